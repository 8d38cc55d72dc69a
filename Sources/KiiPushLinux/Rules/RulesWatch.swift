public import KiiPushRules
import Synchronization

/// Keeps the rules of a running receiver as a file says: at each change the file must prove itself, and is loaded if it
/// does.
///
/// ```swift
/// let watch = RulesWatch(path: "/etc/agent/rules.json", gate: RulesGate(receiver)) { update in print(update) }
/// let following = Task { await watch.run() }
/// ```
///
/// The file's directory is watched, so a file that an editor or a deployment puts in the old one's place counts. A file
/// that is missing, unreadable, half written or wrong changes nothing, and is reported; so does a pipe, a device or a
/// directory in its place, for which nobody waits.
public final class RulesWatch: Sendable {
    /// The file.
    public let path: String

    private let gate: RulesGate
    private let watcher: FileWatcher
    private let report: @Sendable (RulesUpdate) -> Void
    /// What the file held at the last look, or why it could not be read.
    private let last = Mutex(Contents.none)

    private enum Contents: Equatable {
        case none
        case bytes([UInt8])
        case unreadable(String)
    }

    /// Makes a watch; nothing is read before the first look.
    ///
    /// - Parameters:
    ///   - path: the rules file.
    ///   - gate: what a new file must pass.
    ///   - report: called with what became of the file, once for each change; keep it short.
    public init(path: String, gate: RulesGate, report: @escaping @Sendable (RulesUpdate) -> Void) {
        self.path = path
        self.gate = gate
        self.report = report
        watcher = FileWatcher(path: path)
    }

    /// Reads the file, and loads it if it has changed since the last look and proves itself.
    public func look() async {
        let contents = read()
        // The system tells of one change more than once, and of some that change nothing.
        let isNew = last.withLock { last in
            defer { last = contents }
            return last != contents
        }
        guard isNew else { return }
        switch contents {
        case .bytes(let bytes): report(await gate.update(bytes, file: path))
        case .unreadable(let why):
            let start = SourcePosition(line: 1, column: 1)
            report(.refused([RulesError.Problem(file: path, position: start, what: why)]))
        case .none: break
        }
    }

    private func read() -> Contents {
        do {
            return .bytes(try ByteReader(regularFile: path).readAll(limit: RoutingRules.mostBytes))
        } catch {
            return .unreadable("\(error)")
        }
    }

    /// Looks, and then at every change, until the task is cancelled or ``stop()`` is called, which ends the watch for
    /// good.
    ///
    /// While it waits it has a thread of its own, and holds up no other task.
    public func run() async {
        await look()
        await withTaskCancellationHandler {
            while await withThread({ [watcher] in watcher.wait(timeout: .seconds(3600)) }) != .cancelled {
                await look()
            }
        } onCancel: {
            stop()
        }
    }

    /// Ends ``run()``; the rules stay as they are.
    public func stop() { watcher.cancel() }
}
