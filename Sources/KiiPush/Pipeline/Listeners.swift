/// The registration of one listener, for whoever wants to end it again.
///
/// Without it a listener is called for as long as there is what it listens to: a token that is dropped removes nothing.
public struct ListenerToken: Sendable {
    private let body: @Sendable () -> Void

    package init(_ body: @escaping @Sendable () -> Void) { self.body = body }

    /// Removes the listener; again, it changes nothing.
    ///
    /// A call that has begun on another task goes on, and may end after this returns.
    public func remove() { body() }
}

/// The listeners of one kind of event, in the order in which they were added.
package struct Listeners<Event>: Sendable {
    package typealias Listener = @Sendable (Event) -> Void

    /// So many there may be at once: who adds more forgets to remove them.
    package static var bound: Int { 64 }

    private var all: [(number: Int, listener: Listener)] = []
    private var last = 0
    /// Calls all of them; nil while there are none, so that no event is made for nobody.
    package private(set) var call: Listener?

    package init() {}

    /// Adds a listener behind the others.
    ///
    /// - Returns: its number, to remove it by.
    package mutating func add(_ listener: @escaping Listener) -> Int {
        precondition(all.count < Self.bound, "there are \(Self.bound) listeners already; remove those that have ended")
        last += 1
        all.append((last, listener))
        combine()
        return last
    }

    /// Removes a listener, if it is there.
    package mutating func remove(_ number: Int) {
        all.removeAll { $0.number == number }
        combine()
    }

    private mutating func combine() {
        let listeners = all.map(\.listener)
        let callAll: Listener = { event in for listener in listeners { listener(event) } }
        call = listeners.count < 2 ? listeners.first : callAll
    }
}
