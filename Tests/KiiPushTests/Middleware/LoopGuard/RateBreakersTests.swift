import KiiPushTesting
import Testing

@testable import KiiPush

/// The breakers of the four levels together.
struct RateBreakersTests {
    /// How many messages of new buckets a route lets pass after a stream in one bucket was shown to be independent, and
    /// so many of that stream are taken back.
    private func passed(takingBack count: Int) throws -> Int {
        let limits = RateLimits(LoopRate(messages: 2, window: .seconds(10)))
        let owner = PushReceiver {}
        var breakers = RateBreakers()
        var now: Int64 = 0
        func keys(_ object: Int, bucket: Int) -> RateKeys {
            RateKeys(narrow: ResourceKey(1_000_000 + object), wide: ResourceKey(bucket), route: ResourceKey(2_000_000))
        }
        func judge(_ keys: RateKeys) -> RateBreakers.Answer {
            breakers.judge(keys, limits, device: limits.device, Arrival(time: now, now: now))
        }
        // New objects, ten a second, for a minute: the breaker of their bucket opens after 200.
        for number in 0..<600 {
            now = .seconds(Double(number) / 10)
            while let (_, breaker) = breakers.takeDue(now) { breakers.turnEnded(breaker, now) }
            guard case .hold(let breaker) = judge(keys(number, bucket: 1)) else { continue }
            _ = breakers.promise(breaker, bytes: 100)
            let message = try RoutedMessage(PayloadFixture.pushToApp().payload(.long))
            breakers.hold(HeldMessage(id: UInt64(number), message, passed: 1, owner: owner), breaker)
        }
        #expect(breakers.held.isEmpty, "the stream was released")
        for _ in 0..<count { breakers.takeBack(keys(599, bucket: 1)) }
        var passed = 0
        while passed < 1000, judge(keys(1000 + passed, bucket: 10 + passed)) == .pass { passed += 1 }
        return passed
    }

    @Test("messages that wider breakers did not count are not taken back from them", arguments: [1, 50])
    func takeBack(count: Int) throws {
        let passed = try passed(takingBack: 0)
        #expect((1..<400).contains(passed))
        #expect(try self.passed(takingBack: count) == passed)
    }
}
