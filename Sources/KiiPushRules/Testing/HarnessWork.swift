import KiiPush
import Synchronization

/// One action of a test on a receiver: its results, and the handlers that are to fail.
///
/// Bound to the task, so that it never mixes with other tests that run at the same time, and includes whatever the
/// handlers themselves send to the receiver.
final class HarnessWork: Sendable {
    @TaskLocal static var current: HarnessWork?

    private let failures: PlannedFailures
    /// Simulates Kii's cloud during the test.
    let cloud: StandInCloud
    private let ended = Mutex<[Trace]>([])

    init(_ failures: PlannedFailures, _ cloud: StandInCloud) { (self.failures, self.cloud) = (failures, cloud) }

    var traces: [Trace] { ended.withLock { $0 } }

    func add(_ trace: Trace) { ended.withLock { $0.append(trace) } }

    /// Throws if this task's work plans a failure of this handler for this message; does nothing outside of such work.
    static func failurePoint(_ message: UInt64, _ handler: String) throws {
        if current?.failures.isPlanned(message, handler) == true { throw StandInFailure(handler: handler) }
    }
}

/// A stand-in failed because a test asked for it.
struct StandInFailure: Error, CustomStringConvertible {
    let handler: String

    var description: String { "the test told '\(handler)' to fail" }
}

/// The handlers that fail, by message.
final class PlannedFailures: Sendable {
    private let plans = Mutex<[UInt64: [String]]>([:])

    func plan(_ id: UInt64, _ handlers: [String]) {
        guard !handlers.isEmpty else { return }
        plans.withLock { $0[id] = handlers }
    }

    func forget(_ id: UInt64) { plans.withLock { _ = $0.removeValue(forKey: id) } }

    /// Whether a handler is to fail for a message.
    func isPlanned(_ id: UInt64, _ handler: String) -> Bool {
        plans.withLock { $0[id]?.containsExactly(handler) == true }
    }
}
