import Synchronization

/// A built-in middleware that needs the time beyond what messages tell.
protocol ClockedMiddleware: Middleware {
    /// The middleware on the clock of the receiver whose chain it belongs to.
    ///
    /// It must not have been given another clock.
    func attached(to clock: any ReceiverClock) -> any Middleware
}

/// The clock of a middleware that is an object: the one that it was given, else the one of its receiver.
///
/// Set once and read without a lock.
final class StageClock: Sendable {
    private final class Box: Sendable {
        let clock: any ReceiverClock
        init(_ clock: any ReceiverClock) { self.clock = clock }
    }

    private let box = AtomicLazyReference<Box>()

    init(_ clock: (any ReceiverClock)?) {
        if let clock { _ = box.storeIfNil(Box(clock)) }
    }

    /// The present moment; by the system's clock before there is another one.
    var now: MonotonicInstant { box.load()?.clock.now ?? SystemClock().now }

    /// Takes the clock of a receiver; whether none was known before.
    func attach(_ clock: any ReceiverClock, to stage: String) -> Bool {
        let isFirst = box.load() == nil
        let own = box.storeIfNil(Box(clock)).clock
        precondition(own.isSame(as: clock), .otherClock(stage))
        return isFirst
    }
}

extension String {
    /// What is wrong with a middleware that has another clock than its receiver.
    static func otherClock(_ stage: String) -> String {
        "\(stage) has another clock than its receiver; leave the clock out, and it takes the receiver's"
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
