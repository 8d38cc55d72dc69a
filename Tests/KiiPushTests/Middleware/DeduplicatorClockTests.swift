import KiiPushTesting
import Synchronization
import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

/// A clock that a test sets to any moment, as no monotonic clock should be.
private final class JumpingClock: ReceiverClock {
    private let time = Mutex(MonotonicInstant(nanoseconds: 0))
    var now: MonotonicInstant { time.withLock { $0 } }

    /// A deduplicator never sleeps; a test that did would fail.
    func sleep(until instant: MonotonicInstant) throws { throw TestError() }

    func set(_ duration: Duration) { time.withLock { $0 = MonotonicInstant(nanoseconds: 0).advanced(by: duration) } }
}

/// What a deduplicator does when the clock is set, and at the edges of its windows.
struct DeduplicatorClockTests {
    private let clock = JumpingClock()
    private let deduplicator: Deduplicator
    private let strong = PayloadFixture.pushToApp().payload(.long)
    private let weak = PayloadFixture.directPush().payload(.long)
    private static let year = Duration.seconds(31_557_600)

    init() { deduplicator = Deduplicator(clock: clock) }

    private func isPassed(_ payload: RawPayload, at time: Duration, _ other: Deduplicator? = nil) throws -> Bool {
        let deduplicator = other ?? deduplicator
        clock.set(time)
        var payload = payload
        payload.arrivedAt = clock.now
        var message = try RoutedMessage(payload)
        guard try deduplicator.admit(&message) == .pass else { return false }
        deduplicator.settle(message, .handled(MatchedRoutes()))
        return true
    }

    @Test("a copy that came at once is a duplicate, however long after the message was handled", arguments: [70, 630])
    func lateCopy(seconds: Int64) throws {
        let store = InMemorySeenStore(window: SeenWindow(age: .seconds(60)))
        let deduplicator = Deduplicator(store: store, secret: .published, clock: clock)
        var payload = strong
        payload.arrivedAt = .seconds(0)
        var (message, copy) = (try RoutedMessage(payload), try RoutedMessage(payload))
        #expect(try deduplicator.admit(&message) == .pass)
        clock.set(.seconds(seconds))
        deduplicator.settle(message, .handled(MatchedRoutes()))
        copy.admittedAt = clock.now
        #expect(try deduplicator.admit(&copy) == .drop(.duplicate))
    }

    @Test("a lease ends normally when the clock jumps while a message is handled", arguments: [-30, 30])
    func whileHandled(jump: Int) throws {
        var payload = strong
        payload.arrivedAt = clock.now
        var message = try RoutedMessage(payload)
        #expect(try deduplicator.admit(&message) == .pass)
        clock.set(Self.year * jump)
        deduplicator.settle(message, .handled(MatchedRoutes()))
        #expect(try !isPassed(strong, at: Self.year * jump + .seconds(599)))
        #expect(try isPassed(strong, at: Self.year * jump + .seconds(600)))
        #expect(deduplicator.counts.store?.inFlight == 0)
    }

    @Test("accepts times at the ends of the clock's range", arguments: [Int64.min, Int64.max - 1])
    func extremes(nanoseconds: Int64) throws {
        for payload in [strong, weak] {
            let time = Duration.nanoseconds(nanoseconds)
            #expect(try isPassed(payload, at: time))
            #expect(try !isPassed(payload, at: time))
        }
    }

    @Test(
        "a clock set back by less than a minute keeps a strong key for as much longer, one set back by more forgets it")
    func setBackALittle() throws {
        let clock = clock
        let deduplicator = Deduplicator(window: SeenWindow(age: .seconds(20)), clock: clock)
        let start = Duration.seconds(1000)
        #expect(try isPassed(strong, at: start, deduplicator))
        #expect(try !isPassed(strong, at: start - .seconds(60), deduplicator))
        #expect(try isPassed(strong, at: start - .seconds(60) - .nanoseconds(1), deduplicator))
    }

    @Test("a window ends exactly at its age")
    func edges() throws {
        for (payload, age) in [(weak, Duration.seconds(5)), (strong, .seconds(600))] {
            let start = Duration.seconds(10_000)
            #expect(try isPassed(payload, at: start))
            #expect(try !isPassed(payload, at: start))
            #expect(try !isPassed(payload, at: start + age - .nanoseconds(1)))
            #expect(try isPassed(payload, at: start + age))
            #expect(try !isPassed(payload, at: start + age + .nanoseconds(1)), "from its second handling on")
        }
    }
}
