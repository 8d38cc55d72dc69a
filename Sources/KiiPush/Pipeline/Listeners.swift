/// The registration of one listener, by which it can be removed.
///
/// An object calls its listeners, up to 64 of each kind, one after another in the order in which they were added, by
/// the task of the event: keep them fast. Discarding a token removes nothing: the listener stays as long as the object.
public struct ListenerToken: Sendable {
    private let body: @Sendable () -> Void

    package init(_ body: @escaping @Sendable () -> Void) { self.body = body }

    /// Removes the listener; a second call has no effect.
    ///
    /// A call that has begun on another task may end after this returns.
    public func remove() { body() }
}

/// The listeners of one kind of event, in the order in which they were added.
package struct Listeners<Event>: Sendable {
    package typealias Listener = @Sendable (Event) -> Void

    /// The most listeners at once; a program that adds more forgets to remove them.
    package static var bound: Int { 64 }

    private var all: [(number: Int, listener: Listener)] = []
    private var last = 0

    package init() {}

    package var isEmpty: Bool { all.isEmpty }

    /// Calls all of them; outside of a lock around this, since they may call back.
    // Not a closure that the caller calls: one that leaves a generic type is wrapped, which allocates memory each time.
    package func call(_ event: Event) { for (_, listener) in all { listener(event) } }

    /// Adds a listener after the others; returns its number, for ``remove(_:)``.
    package mutating func add(_ listener: @escaping Listener) -> Int {
        precondition(all.count < Self.bound, "there are \(Self.bound) listeners already; remove those that have ended")
        last += 1
        all.append((last, listener))
        return last
    }

    /// Removes a listener, if it exists; returns those before, to be released outside of the lock around this: the end
    /// of what a listener has captured may call back.
    package mutating func remove(_ number: Int) -> Listeners {
        let before = self
        all.removeAll { $0.number == number }
        return before
    }
}
