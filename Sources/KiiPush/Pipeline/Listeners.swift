import Synchronization

/// The registration of one listener, by which it can be removed.
///
/// An object calls its listeners, up to 64 of each kind, one after another in the order in which they were added, by
/// the task of the event: keep them fast. Discarding a token removes nothing: the listener stays as long as the object.
public struct ListenerToken: Sendable {
    private let body: @Sendable () -> Void

    fileprivate init(_ body: @escaping @Sendable () -> Void) { self.body = body }

    /// Removes the listener; a second call has no effect.
    ///
    /// A call that has begun on another task may end after this returns.
    public func remove() { body() }
}

/// The listeners of one kind of event, in the order in which they were added.
package final class Listeners<Event>: Sendable {
    /// The most listeners at once; a program that adds more forgets to remove them.
    private static var bound: Int { 64 }

    private let all = RareList<(number: Int, listener: @Sendable (Event) -> Void)>()
    private let last = Atomic(0)

    package init() {}

    package var isEmpty: Bool { all.isEmpty }

    /// Calls all of them.
    // Outside of the lock, since they may call back. Not a closure that the caller calls: one that leaves a generic
    // type is wrapped, which allocates memory each time.
    package func call(_ event: Event) { for (_, listener) in all.change({ $0 }) { listener(event) } }

    /// Adds a listener after the others.
    package func add(_ listener: @escaping @Sendable (Event) -> Void) -> ListenerToken {
        let number = last.add(1, ordering: .relaxed).newValue
        all.change { all in
            precondition(
                all.count < Self.bound, "there are \(Self.bound) listeners already; remove those that have ended")
            all.append((number, listener))
        }
        return ListenerToken { [weak self] in self?.remove(number) }
    }

    private func remove(_ number: Int) {
        // Released outside of the lock: the end of what a listener has captured may call back.
        _ = all.change { all in
            let before = all
            all.removeAll { $0.number == number }
            return before
        }
    }
}
