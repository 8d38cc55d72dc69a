import KiiPush
import KiiPushTesting
import Synchronization

/// The agent's log: a line an outcome, with the priority in front that journald reads.
final class AgentLog: Sendable {
    private let console: Console
    private let isQuiet: Bool
    private let connected = Mutex<(@Sendable () -> Void)?>(nil)

    init(_ console: Console, isQuiet: Bool) {
        self.console = console
        self.isQuiet = isQuiet
    }

    /// Calls `action` when a transport is connected.
    func onConnected(_ action: @escaping @Sendable () -> Void) { connected.withLock { $0 = action } }

    /// Says how the agent is doing.
    func note(_ text: String) {
        if !isQuiet { console.error("<6>kiipush: \(text)") }
    }

    /// Says what somebody should look at.
    func trouble(_ text: String) { console.error("<4>kiipush: \(escaped(text))") }

    func tell(_ trace: Trace) {
        if !isQuiet { console.error("<6>\(trace.outcome)") }
    }

    func tell(_ update: RulesUpdate) {
        switch update {
        case .loaded: note("\(update)")
        case .refused(let problems):
            trouble("the rules stay as they are, since the new ones are wrong")
            for problem in problems { trouble("\(problem)") }
        case .overtaken: break
        }
    }

    func tell(_ event: ServiceEvent) {
        switch event {
        case .retry(let id, let route, let attempt, let pause, let cause):
            trouble("message \(id): \(route) failed (\(cause)), attempt \(attempt); again in \(pause)")
        case .overrun(let id, let route, let isLeft):
            trouble(
                "message \(id): \(route) \(isLeft ? "did not return and is left" : "took too long and is cancelled")")
        case .storeFailed(let what): console.error("<3>kiipush: \(escaped(what))")
        case .transport(let name, .connected(let how)):
            connected.withLock { $0 }?()
            note("\(name): \(escaped(how))")
        case .transport(let name, .disconnected(let why, let pause)):
            trouble("\(name): disconnected: \(why); again in \(pause)")
        case .transport(let name, .possibleGap(let why)): trouble("\(name): messages may be missing: \(why)")
        case .transport(let name, .ignored(let what)): trouble("\(name): ignored: \(what)")
        }
    }
}
