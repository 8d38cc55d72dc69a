import CLibrary
import KiiPushSystem
import Synchronization

/// The process around an agent: its log, its service manager, and the signals that stop it or make it look at files.
package final class AgentHost: Sendable {
    package let log: AgentLog
    package let stop = StopRequest()
    let manager = ServiceManager()

    /// The log that shortages are reported to, which itself knows them: cleared when the host goes, or both would stay.
    private final class ShortageLog: Sendable {
        let log = Mutex<AgentLog?>(nil)
    }

    private let name: String
    private let shortageLog = ShortageLog()
    private let looks = Mutex<[@Sendable () -> Void]>([])
    private let signals = Mutex<(StopSignals, CaughtSignal)?>(nil)

    /// Makes the log; signals are not caught before ``start()``.
    ///
    /// The name begins the lines about a start that failed; `write` returns whether a line was written.
    package init(
        name: String = "kiipush", isQuiet: Bool,
        write: @escaping @Sendable (String) -> Bool = { (try? writeAll($0 + "\n", to: STDERR_FILENO)) != nil }
    ) {
        occupyStandardDescriptors()
        self.name = name
        let shortages = Shortages { [shortageLog] change in shortageLog.log.withLock { $0 }?.tell(change) }
        let output = LogOutput.standardError
        let writer = LogWriter(shortages: shortages) { line in output.write(line, write) }
        let log = AgentLog(isQuiet: isQuiet, writer: writer, shortages: shortages)
        self.log = log
        shortageLog.log.withLock { $0 = log }
    }

    /// Ends the log's thread, also of an agent that never ran.
    deinit {
        shortageLog.log.withLock { $0 = nil }
        log.writer.finish(within: .zero)
    }

    /// Catches signals; returns whether the process may open enough files, and logs if it may not.
    ///
    /// Call it before anything slow: until then a signal ends the process like a crash.
    package func start() -> Bool {
        ignoreWriteSignals()
        stopIgnoringChildren()
        if let limit = DescriptorLimit.lackForStart() {
            fail("the limit of \(limit) open files is too low; raise it with 'ulimit -n' or LimitNOFILE=")
            return false
        }
        if isAddressSpaceSmall {
            log.trouble(
                "the address space is limited to less than 1 GiB: without space for a thread, the agent hangs; raise it "
                    + "with 'ulimit -v', or limit the memory with MemoryMax= instead")
        }
        signals.withLock { signals in
            signals = (
                StopSignals { [self] in
                    // Before the stop, whose end may come at once, and closes the log.
                    log.note("stopping")
                    manager.stopping()
                    stop.make()
                }, CaughtSignal(SIGHUP) { [self] in for look in looks.withLock({ $0 }) { look() } }
            )
        }
        return true
    }

    func onHangUp(_ look: @escaping @Sendable () -> Void) { looks.withLock { $0.append(look) } }

    package func fail(_ why: String) { log.line("\(name): \(why)") }

    /// Ends with the log written, as far as it can be within a second; signals then do again what they did before.
    package func finish() {
        log.writer.finish(within: .seconds(1))
        signals.withLock { $0 = nil }
    }
}

/// Whether an agent was asked to stop, possibly before it runs.
package final class StopRequest: Sendable {
    private let state = Mutex<(isMade: Bool, action: (@Sendable () -> Void)?)>((false, nil))

    package func make() {
        let action = state.withLock { state in
            state.isMade = true
            return state.action
        }
        action?()
    }

    package var isMade: Bool { state.withLock { $0.isMade } }

    /// Calls `action` when the stop is requested, at once if it already was.
    func onMade(_ action: @escaping @Sendable () -> Void) {
        let isMade = state.withLock { state in
            state.action = action
            return state.isMade
        }
        if isMade { action() }
    }
}
