import KiiPush
import Synchronization

/// One action of a test on a receiver: its results, and the handlers that are to fail.
///
/// Bound to the task, so that it never mixes with other tests that run at the same time, and includes whatever the
/// handlers themselves send to the receiver.
package final class HarnessWork: Sendable {
    @TaskLocal static var current: HarnessWork?

    private let failures: PlannedFailures
    /// Simulates Kii's cloud during the test.
    let cloud: StandInCloud
    private let ended = Mutex<[Trace]>([])

    init(_ failures: PlannedFailures, _ cloud: StandInCloud) { (self.failures, self.cloud) = (failures, cloud) }

    var traces: [Trace] { ended.withLock { $0 } }

    func add(_ trace: Trace) { ended.withLock { $0.append(trace) } }

    /// Throws if this task's work plans a failure of this handler for this message; does nothing outside of such work.
    package static func failurePoint(_ message: UInt64, _ handler: String) throws {
        if let failure = current?.failures.failure(message, handler) { throw failure }
    }
}

/// The handlers that are to fail with one message.
package enum FailingStandIns: Sendable, Hashable {
    /// Every handler.
    case all
    /// Handlers with these names, which are the names in rules, or else the route's ids.
    case named([String])
}

/// A stand-in failed because a test of a rules file asked for it.
struct StandInFailure: Error, CustomStringConvertible {
    let handler: String

    var description: String { "the test told '\(handler)' to fail" }
}

/// The handlers that fail, by message.
final class PlannedFailures: Sendable {
    private let plans = Mutex<[UInt64: FailingStandIns]>([:])
    private let make: @Sendable (String) -> any Error

    init(_ make: @escaping @Sendable (String) -> any Error) { self.make = make }

    func plan(_ id: UInt64, _ handlers: FailingStandIns) {
        guard handlers != .named([]) else { return }
        plans.withLock { $0[id] = handlers }
    }

    func forget(_ id: UInt64) { plans.withLock { _ = $0.removeValue(forKey: id) } }

    /// The error that a handler throws for a message; nil if it is to succeed.
    func failure(_ id: UInt64, _ handler: String) -> (any Error)? {
        switch plans.withLock({ $0[id] }) {
        case .all?: make(handler)
        case .named(let names)?: names.containsExactly(handler) ? make(handler) : nil
        case nil: nil
        }
    }
}
