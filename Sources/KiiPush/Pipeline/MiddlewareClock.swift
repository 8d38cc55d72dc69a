import Synchronization

/// The clock of a middleware that is a class: its own if it was given one, else that of its receiver; read without a
/// lock.
final class MiddlewareClock: Sendable {
    private final class Box: Sendable {
        let clock: any ReceiverClock
        init(_ clock: any ReceiverClock) { self.clock = clock }
    }

    private let box = AtomicLazyReference<Box>()

    init(_ clock: (any ReceiverClock)?) {
        if let clock { _ = box.storeIfNil(Box(clock)) }
    }

    /// The present moment; by the system's clock until another one is set.
    var now: MonotonicInstant { box.load()?.clock.now ?? SystemClock().now }

    /// The wall clock's time, by the same clock.
    var wallNow: Int64? { box.load().map { $0.clock.wallNow } ?? SystemClock().wallNow }

    /// Sets the clock of a receiver, unless one was set before, which must then be the same.
    func attach(_ clock: any ReceiverClock, to middleware: String) {
        let own = box.storeIfNil(Box(clock)).clock
        precondition(own.isSame(as: clock), .otherClock(middleware))
    }
}

extension String {
    /// The message about a middleware that has another clock than its receiver.
    static func otherClock(_ middleware: String) -> String {
        "\(middleware) has another clock than its receiver; leave the clock out, and it takes the receiver's"
    }
}

extension ReceiverClock {
    /// Whether two clocks always tell the same time: one object, or two values of one type.
    func isSame(as other: any ReceiverClock) -> Bool {
        guard type(of: self) == type(of: other) else { return false }
        guard type(of: self) is AnyClass else { return true }
        return ObjectIdentifier(self as AnyObject) == ObjectIdentifier(other as AnyObject)
    }
}
