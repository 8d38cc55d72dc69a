import KiiPushTesting
import Testing

@testable import KiiPush

/// Many keys that are one stream: what a wider breaker has found out holds for each of them.
struct SharedStreamTests {
    /// Fifty objects in ten buckets of a route, and a loop of one of them.
    private struct Run {
        struct Handling {
            let arrival: Int64
            let delay: Int64
            let isCaused: Bool
        }

        private let limits = RateLimits(.standard)
        private let owner = PushReceiver {}
        private var breakers = RateBreakers()
        private var waiting: [UInt64: Message] = [:]
        private var lastNumber: UInt64 = 0
        private var caused: [Int64] = []
        var handlings: [Handling] = []

        private struct Message {
            let arrival: Int64
            let isCaused: Bool
        }

        private static func keys(_ object: Int) -> RateKeys {
            RateKeys(
                narrow: ResourceKey(1000 + object), wide: ResourceKey(100 + object % 10), route: ResourceKey(1))
        }

        /// So many a second by chance, each of one of the objects; from `loopStart` on one of object 0 causes the next.
        mutating func run(pace: Double, seconds: Int, loopStart: Int? = nil, seed: UInt64 = 11) throws {
            var random = SeededGenerator(seed: seed)
            var next = 0.0
            for tick in 0..<(seconds * 20) {
                let now = Int64(tick) * 50_000_000
                if tick == loopStart.map({ $0 * 20 }) { caused.append(now) }
                while Int64.seconds(next) <= now {
                    try arrive(Int.random(in: 0..<50, using: &random), now, isCaused: false)
                    // Mean 1, from 0 to 2: as irregular as a stream by chance, nearly.
                    next += Double.random(in: 0...2, using: &random) / pace
                }
                while let first = caused.first, first <= now {
                    caused.removeFirst()
                    try arrive(0, now, isCaused: true)
                }
                while let (message, breaker) = breakers.takeDue(now) {
                    if let known = waiting.removeValue(forKey: message.id) { handle(known, now) }
                    breakers.turnEnded(breaker, now)
                }
            }
        }

        private mutating func arrive(_ object: Int, _ now: Int64, isCaused: Bool) throws {
            let message = Message(arrival: now, isCaused: isCaused)
            guard
                case .hold(let breaker) = breakers.judge(
                    Self.keys(object), limits, device: limits.device, Arrival(time: now, now: now))
            else { return handle(message, now) }
            _ = breakers.promise(breaker, bytes: 100)
            lastNumber += 1
            waiting[lastNumber] = message
            let routed = try RoutedMessage(PayloadFixture.pushToApp().payload(.long))
            breakers.hold(HeldMessage(id: lastNumber, routed, passed: 1, owner: owner), breaker)
        }

        private mutating func handle(_ message: Message, _ now: Int64) {
            handlings.append(
                Handling(arrival: message.arrival, delay: now - message.arrival, isCaused: message.isCaused))
            if message.isCaused { caused.append(now + 200_000_000) }
        }
    }

    @Test("fifty objects of ten buckets are late once, together, not each for itself", arguments: [20.0, 50, 100, 200])
    func once(pace: Double) throws {
        var run = Run()
        try run.run(pace: pace, seconds: 400)
        let late = run.handlings.filter { $0.delay > .seconds(1) }.map(\.arrival)
        let (first, last) = (try #require(late.min()), try #require(late.max()))
        #expect(last - first <= .seconds(10), "from \(first / 1_000_000_000) s to \(last / 1_000_000_000) s")
        #expect(run.handlings.allSatisfy { $0.delay <= .seconds(8) })
    }

    @Test(
        "a loop that begins in one of them later is found, and handled ever more rarely",
        arguments: [20.0, 50, 100], [3, 5, 11] as [UInt64])
    func loop(pace: Double, seed: UInt64) throws {
        var run = Run()
        try run.run(pace: pace, seconds: 1300, loopStart: 100, seed: seed)
        let caused = run.handlings.count { $0.isCaused }
        #expect((20...700).contains(caused), "\(caused)")
        // Of these hardly any in the last ten minutes.
        #expect(run.handlings.count { $0.isCaused && $0.arrival > .seconds(700) } <= 12)
    }
}
