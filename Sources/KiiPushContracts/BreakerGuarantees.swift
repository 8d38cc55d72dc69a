import KiiPush

extension BreakerGuarantee {
    /// Every guarantee, in the order of the protocol's documentation.
    static let all = keeping + closing + room + later + [atOnce]

    // MARK: Persistence

    private static let keeping = [
        BreakerGuarantee("an empty store has no breakers") { trial in
            try trial.expectKept([], "at first")
            try trial.write()
            try trial.expectKept([], "when nothing was written")
        },
        BreakerGuarantee("a breaker is returned unchanged") { trial in
            try trial.write(odd)
            for when in ["at first", "once more"] { try trial.expectKept(odd, when) }
        },
        BreakerGuarantee("the breaker written last for a key is kept") { trial in
            let other = breaker(2)
            try trial.write([breaker(1), other])
            for (coolDown, until) in [(120, 500), (60, 30), (60, 30)] {
                let next = breaker(1, coolDown: Int64(coolDown), until: Int64(until))
                try trial.write([next])
                try trial.expectKept([next, other], "when one has opened again")
            }
        },
        BreakerGuarantee("keys that differ in one part are distinct") { trial in
            let digest = DedupeKey(first: 7, second: 8)
            let keys = [
                TrippedBreaker.Key(isWide: false, digest: digest), TrippedBreaker.Key(isWide: true, digest: digest),
                TrippedBreaker.Key(isWide: false, digest: DedupeKey(first: 7, second: 9)),
                TrippedBreaker.Key(isWide: false, digest: DedupeKey(first: 6, second: 8)),
            ]
            let breakers = keys.map { TrippedBreaker(key: $0, coolDown: .seconds(60), until: .seconds(1)) }
            for breaker in breakers { try trial.write([breaker]) }
            try trial.expectKept(breakers, "when each was written")
            try trial.write(closed: [breakers[0]])
            try trial.expectKept(Array(breakers.dropFirst()), "when one of them has closed")
        },
    ]

    // MARK: Closed breakers

    private static let closing = [
        BreakerGuarantee("closed breakers are removed, and the others are kept") { trial in
            try trial.write([breaker(1), breaker(2), breaker(3)])
            try trial.write(closed: [breaker(2)])
            try trial.expectKept([breaker(1), breaker(3)], "when one has closed")
            try trial.write(closed: [breaker(1), breaker(3)])
            try trial.expectKept([], "when all have")
            try trial.write([breaker(2)])
            try trial.expectKept([breaker(2)], "when one has opened again")
        },
        BreakerGuarantee("closing an unknown breaker changes nothing") { trial in
            try trial.write(closed: [breaker(1)])
            try trial.write([breaker(1)])
            try trial.write(closed: [breaker(2)])
            try trial.expectKept([breaker(1)], "afterwards")
        },
        BreakerGuarantee("one call opens some and closes others") { trial in
            try trial.write([breaker(1), breaker(2)])
            try trial.write([breaker(3), breaker(4)], closed: [breaker(1), breaker(9)])
            try trial.expectKept([breaker(2), breaker(3), breaker(4)], "afterwards")
        },
    ]

    // MARK: Capacity

    private static let room = [
        BreakerGuarantee("beyond its capacity it forgets the breakers that opened first", capacity: 3) { trial in
            for number in 1...3 { try trial.write([breaker(number, until: Int64(100 - number))]) }
            // The first one is now the last one.
            try trial.write([breaker(1)])
            try trial.write([breaker(4, until: 1)])
            try trial.expectKept([breaker(1), breaker(3, until: 97), breaker(4, until: 1)], "beyond the bound")
            try trial.write([breaker(5)], closed: [breaker(1)])
            try trial.expectKept(
                [breaker(3, until: 97), breaker(4, until: 1), breaker(5)], "when one made room for another")
            try trial.write((10..<15).map { breaker($0) })
            let kept = try trial.store.breakers().map(\.key)
            let isLast = Set(kept).isSubset(of: Set((10..<15).map { breaker($0).key }))
            trial.expect(kept.count == 3 && isLast, "of five that opened at once three should be kept")
        },
        BreakerGuarantee("a store of capacity 0 keeps nothing", capacity: 0) { trial in
            try trial.write([breaker(1)])
            try trial.expectKept([], "in a store for none")
        },
    ]

    // MARK: A later process

    private static let later = [
        BreakerGuarantee("the secret is always the same") { trial in
            let secret = try trial.store.secret
            trial.expect(try trial.store.secret == secret, "it should be the same when it is asked for again")
            try trial.write([breaker(1)])
            for _ in 0..<2 {
                try trial.restart()
                trial.expect(try trial.store.secret == secret, "it should be the same in a later process")
            }
        },
        BreakerGuarantee("a later process finds open breakers, but no closed ones") { trial in
            let now = SystemClock().now
            // A machine that has just started has been up for less than an hour.
            let open = [(1, 60, 60), (2, 3600, 3000), (3, 60, 1)].map { number, coolDown, ahead in
                TrippedBreaker(
                    key: breaker(number).key, coolDown: .seconds(coolDown), until: now.advanced(by: .seconds(ahead)))
            }
            try trial.write(open)
            try trial.write([breaker(4)])
            try trial.write(closed: [breaker(4)])
            for _ in 0..<2 {
                try trial.restart()
                try trial.expectKept(open, isLater: true, "in a later process")
            }
            try trial.write([breaker(5, until: now.nanoseconds / 1_000_000_000)], closed: open)
            try trial.restart()
            try trial.expectKept(
                [breaker(5, until: now.nanoseconds / 1_000_000_000)], isLater: true, "in the process after that")
        },
        BreakerGuarantee("a later process also forgets the breakers that opened first", capacity: 2) { trial in
            let now = SystemClock().now.nanoseconds / 1_000_000_000
            try trial.write([breaker(2, until: now)])
            try trial.write([breaker(1, until: now)])
            try trial.restart()
            try trial.write([breaker(3, until: now)])
            try trial.expectKept(
                [breaker(1, until: now), breaker(3, until: now)], isLater: true, "beyond the bound")
        },
    ]

    // MARK: Concurrency

    private static let atOnce = BreakerGuarantee("concurrent calls are atomic") { trial in
        let store = try trial.store
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<32 {
                group.addTask {
                    // Each replaces the previous one.
                    for round in 0..<4 {
                        let old = round == 0 ? [] : [breaker(number * 4 + round - 1).key]
                        do {
                            try store.write([breaker(number * 4 + round)], closed: old)
                        } catch { trial.fail("a call threw \(error)") }
                        let count = (try? store.breakers().count) ?? .max
                        trial.expect(count <= 32, "there should never be more than 32, there are \(count)")
                    }
                }
            }
        }
        try trial.expectKept((0..<32).map { breaker($0 * 4 + 3) }, "in the end")
    }

    // MARK: Fixtures

    /// Breakers with values that are easily lost.
    private static let odd: [TrippedBreaker] = [
        odd(false, 0, 0, .zero, 0), odd(true, .max, .max, .seconds(3600), -5),
        odd(false, 1 << 63, 1, .nanoseconds(1), 1_234_567_891), odd(true, 1, 1 << 63, .nanoseconds(Int64.max), 41),
        odd(false, .max, 0, .milliseconds(1500), 3_000_000_000_000_000_001),
    ]

    private static func odd(
        _ isWide: Bool, _ first: UInt64, _ second: UInt64, _ coolDown: Duration, _ nanoseconds: Int64
    ) -> TrippedBreaker {
        TrippedBreaker(
            key: TrippedBreaker.Key(isWide: isWide, digest: DedupeKey(first: first, second: second)),
            coolDown: coolDown, until: MonotonicInstant(nanoseconds: nanoseconds))
    }

    private static func breaker(_ number: Int, coolDown: Int64 = 60, until: Int64 = 60) -> TrippedBreaker {
        TrippedBreaker(
            key: TrippedBreaker.Key(
                isWide: number % 2 == 0, digest: DedupeKey(first: UInt64(number) << 40, second: UInt64(number))),
            coolDown: .seconds(coolDown), until: .seconds(until))
    }
}
