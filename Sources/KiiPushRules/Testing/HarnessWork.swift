import KiiPush
import Synchronization

/// One piece of work that a test gives a receiver: what came of it, and which handlers are to fail.
///
/// Bound to the task, so that work of other tests at the same time never mixes with it, and whatever the handlers
/// themselves send into the receiver belongs to it.
package final class HarnessWork: Sendable {
    @TaskLocal static var current: HarnessWork?

    private let failures: PlannedFailures
    /// What rules do to the cloud during the test.
    let cloud: StandInCloud
    private let ended = Mutex<[Trace]>([])

    init(_ failures: PlannedFailures, _ cloud: StandInCloud) { (self.failures, self.cloud) = (failures, cloud) }

    var traces: [Trace] { ended.withLock { $0 } }

    func add(_ trace: Trace) { ended.withLock { $0.append(trace) } }

    /// Fails if the work of this task is to fail a handler with a message; does nothing outside of any.
    package static func failurePoint(_ message: UInt64, _ handler: String) throws {
        if let failure = current?.failures.failure(message, handler) { throw failure }
    }
}

/// The handlers that are to fail with one message.
package enum FailingStandIns: Sendable, Hashable {
    /// Every handler.
    case all
    /// Those of these names: what rules call a handler by, else the id of its route.
    case named([String])
}

/// A stand-in failed since a rules file's test told it to.
struct StandInFailure: Error, CustomStringConvertible {
    let handler: String

    var description: String { "the test told '\(handler)' to fail" }
}

/// Which handlers fail, message by message: one that is held fails when its turn comes.
final class PlannedFailures: Sendable {
    private let plans = Mutex<[UInt64: FailingStandIns]>([:])
    private let make: @Sendable (String) -> any Error

    init(_ make: @escaping @Sendable (String) -> any Error) { self.make = make }

    var isEmpty: Bool { plans.withLock { $0.isEmpty } }

    func plan(_ id: UInt64, _ handlers: FailingStandIns) {
        guard handlers != .named([]) else { return }
        plans.withLock { $0[id] = handlers }
    }

    func forget(_ id: UInt64) { plans.withLock { _ = $0.removeValue(forKey: id) } }

    /// What a handler throws with a message; nil when it is to succeed.
    func failure(_ id: UInt64, _ handler: String) -> (any Error)? {
        switch plans.withLock({ $0[id] }) {
        case .all?: make(handler)
        case .named(let names)?: names.contains { $0.utf8.elementsEqual(handler.utf8) } ? make(handler) : nil
        case nil: nil
        }
    }
}
