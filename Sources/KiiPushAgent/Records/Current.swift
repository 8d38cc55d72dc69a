import Synchronization

/// A value that tasks of an agent set and read.
final class Current<Value: Sendable & Equatable>: Sendable {
    private let kept = Mutex<Value?>(nil)

    var value: Value? { kept.withLock { $0 } }

    /// Sets the value; returns whether it is another one.
    @discardableResult
    func set(_ new: Value?) -> Bool {
        kept.withLock { kept in
            defer { kept = new }
            return kept != new
        }
    }
}
