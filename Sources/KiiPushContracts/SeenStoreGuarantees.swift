import KiiPush
import KiiPushTesting

extension SeenStoreGuarantee {
    // MARK: Age and count

    static let windows = [
        Self("a message with strong keys is remembered for the window's age", window: brief) { trial in
            try trial.handle(try strong(1, 2), at: 0)
            try trial.expectDone(try strong(1), at: 59, "before the age is over")
            try trial.expectDone(try strong(2), at: 59, "by its second key before the age is over")
            try trial.begin(try strong(1), at: 61, "when the age is over")
            try trial.begin(try strong(2), at: 61, "by its second key when the age is over")
        },
        Self("being asked for again does not make a message remembered longer", window: brief) { trial in
            try trial.handle(try weak(1), at: 0)
            try trial.handle(try strong(2), at: 0)
            try trial.expectDone(try weak(1), at: 4, "before the weak age is over")
            try trial.expectDone(try strong(2), at: 50, "before the age is over")
            try trial.begin(try weak(1), at: 6, "when the weak age is over since its commit")
            try trial.begin(try strong(2), at: 61, "when the age is over since its commit")
        },
        Self("the age counts from the commit", window: brief) { trial in
            let lease = try trial.begin(try strong(1), at: 0, "the first time")
            try trial.store.commit(lease, now: .seconds(50))
            try trial.expectDone(try strong(1), at: 109, "before the age is over since its commit")
            try trial.begin(try strong(1), at: 111, "when the age is over since its commit")
        },
        Self("a forgotten message is remembered again", window: brief) { trial in
            try trial.handle(try strong(1), at: 0)
            let lease = try trial.begin(try strong(1), at: 61, "when the age is over")
            try trial.store.commit(lease, now: .seconds(61))
            try trial.expectDone(try strong(1), at: 120, "before the second age is over")
            try trial.begin(try strong(1), at: 122, "when the second age is over")
        },
        Self("the window's count is remembered, the oldest forgotten first", window: few) { trial in
            for number in 1...4 { try trial.handle(try strong(number), at: Int64(number)) }
            for number in 2...4 { try trial.expectDone(try strong(number), at: 5, "among the window's count") }
            try trial.begin(try strong(1), at: 5, "beyond the window's count")
        },
        Self("a message with two keys counts once, and loses both at once", window: few) { trial in
            for number in 1...3 { try trial.handle(try strong(number, number + 10), at: 0) }
            for number in 1...3 { try trial.expectDone(try strong(number), at: 0, "among the window's count") }
            try trial.handle(try strong(4, 14), at: 0)
            try trial.begin(try strong(1), at: 0, "beyond the window's count")
            try trial.begin(try strong(11), at: 0, "by its second key beyond the window's count")
        },
        Self("a window of count 0 remembers nothing", window: SeenWindow(count: 0)) { trial in
            try trial.handle(try strong(1), at: 0)
            try trial.begin(try strong(1), at: 0, "after a commit that is not remembered")
        },
        Self("messages with weak keys never displace those with strong ones", window: few) { trial in
            try trial.handle(try strong(1), at: 0)
            for number in 2...50 { try trial.handle(try weak(number), at: 0) }
            try trial.expectDone(try strong(1), at: 0, "with strong keys after many weak ones")
        },
    ]

    static let time = [
        Self("a store works while time stands still", window: few) { trial in
            for number in 1...50 {
                try trial.handle(try strong(number), at: 0)
                try trial.expectDone(try strong(number), at: 0, "at the moment of its commit")
            }
            try trial.begin(try strong(47), at: 0, "beyond the window's count")
            try trial.expectDone(try strong(48), at: 0, "among the window's count")
        },
        Self("a message is done for a call whose time is before its commit", window: brief) { trial in
            try trial.handle(try strong(1), at: 100)
            try trial.expectDone(try strong(1), at: 99, "for a call that was overtaken")
            let late = try trial.begin(try strong(2), at: 98, "the first time, for a call that was overtaken")
            try trial.store.commit(late, now: .seconds(98))
            try trial.expectDone(try strong(1), at: 100, "when a commit came late")
            try trial.expectDone(try strong(2), at: 100, "when it was committed late")
        },
        Self("a message is done for a call that waited", window: brief) { trial in
            try trial.handle(try strong(1), at: 1000)
            try trial.expectDone(try strong(1), at: 941, "for a call that waited for nearly its age")
        },
        Self("a clock that is set back by years keeps no message for years", window: brief) { trial in
            for keys in [try strong(1), try weak(2)] {
                try trial.handle(keys, at: years)
                try trial.handle(keys, at: 0)
                try trial.expectDone(keys, at: 4, "on the clock that was set back")
                try trial.begin(keys, at: 61, "when its age is over on the clock that was set back")
            }
        },
        Self("a clock that is set forward by years makes no new message a duplicate", window: brief) { trial in
            for keys in [try strong(1), try weak(2)] {
                try trial.handle(keys, at: 0)
                try trial.handle(keys, at: years)
                try trial.expectDone(keys, at: years + 4, "on the clock that was set forward")
            }
        },
    ]

    // MARK: Counts

    static let counts = [
        Self("a store with counts reports what it holds and what it evicted early", window: few) { trial in
            guard trial.store.counts != nil else { return }
            let lease = try trial.begin(try strong(1, 11), at: 0, "the first time")
            let other = try trial.begin(try weak(2), at: 0, "the first time")
            try trial.expectCounts(SeenCounts(inFlight: 2), "with two messages in flight")
            try trial.store.release(other)
            try trial.store.commit(lease, now: .seconds(0))
            try trial.expectCounts(SeenCounts(strong: .init(remembered: 1)), "when they have ended")
            for number in 3...7 { try trial.handle(try strong(number), at: 0) }
            try trial.handle(try weak(2), at: 0)
            try trial.expectCounts(
                SeenCounts(strong: .init(remembered: 3, evictedEarly: 3), weak: .init(remembered: 1)),
                "when three did not fit")
        }
    ]

    // MARK: Concurrency

    static let atOnce = Self("if many calls begin one message at once, exactly one gets the lease") { trial in
        for round in 1...20 {
            let keys = try strong(round)
            let states = try await begin(Array(repeating: keys, count: 32), trial.store)
            _ = judge(states, trial)
        }
    }

    static let twoKeysAtOnce = Self("the same holds if the calls have only one key in common") { trial in
        let views = try (1...32).map { call in
            call % 3 == 0 ? try strong(0) : call % 3 == 1 ? try strong(99, 0) : try strong(call, 0)
        }
        for _ in 1...20 {
            let states = try await begin(views, trial.store)
            if let lease = judge(states, trial) { try trial.store.release(lease) }
        }
    }

    private static func begin(_ keys: [DedupeKeys], _ store: any SeenStore) async throws -> [SeenState] {
        try await withThrowingTaskGroup(of: SeenState.self) { group in
            for keys in keys { group.addTask { try store.begin(keys, now: .seconds(0)) } }
            var states: [SeenState] = []
            for try await state in group { states.append(state) }
            return states
        }
    }

    /// The lease that exactly one of the calls should have received; all others should have seen a duplicate.
    private static func judge(_ states: [SeenState], _ trial: SeenStoreTrial) -> SeenLease? {
        var leases: [SeenLease] = []
        for state in states {
            switch state {
            case .fresh(let lease): leases.append(lease)
            case .inFlight: break
            case .done: trial.fail("a call returned done, and nobody had committed it")
            }
        }
        guard let lease = leases.first, leases.count == 1 else {
            trial.fail("\(leases.count) calls got the message")
            return nil
        }
        return lease
    }

    // MARK: Fixtures

    static let brief = SeenWindow(age: .seconds(60), count: 1000, weakAge: .seconds(5))
    /// Thirty years in seconds.
    static let years: Int64 = 946_728_000
    /// Three messages.
    static let few = SeenWindow(count: 3)

    static func strong(_ primary: Int, _ secondary: Int? = nil) throws -> DedupeKeys {
        DedupeKeys(primary: try key(primary), secondary: try secondary.map(key), strength: .strong)
    }

    static func weak(_ primary: Int) throws -> DedupeKeys { DedupeKeys(primary: try key(primary), strength: .weak) }

    /// The key of the message with a number, made as a receiver makes it.
    private static func key(_ number: Int) throws -> DedupeKey {
        let fixture = PayloadFixture.pushToApp(sentAt: Int64(number), modifiedAt: nil)
        return try PushMessage(fixture.payload(.long)).dedupeKeys(secret: .published).primary
    }
}

extension SeenStoreGuarantee {
    // MARK: Weak keys

    static let weakKeys = [
        Self("a message with a weak key is the same for the weak age", window: brief) { trial in
            try trial.handle(try weak(1), at: 0)
            try trial.handle(try strong(2), at: 0)
            try trial.expectDone(try weak(1), at: 4, "before the weak age is over")
            try trial.begin(try weak(1), at: 6, "when the weak age is over")
            try trial.expectDone(try strong(2), at: 6, "with strong keys when the weak age is over")
        },
        Self("the weak age counts from the arrival, not from the commit", window: brief) { trial in
            let late = try trial.begin(try weak(1), at: 0, "the first time")
            try trial.store.commit(late, now: .seconds(30))
            try trial.begin(try weak(1), at: 31, "that arrived long after the first, just after its commit,")
            try trial.expectDone(try weak(1), at: 4, "that arrived just after the first, and waited since,")
        },
        Self("the weak age counts while the first message is in flight too", window: brief) { trial in
            let first = try trial.begin(try weak(1), at: 0, "the first time")
            try trial.expectInFlight(try weak(1), at: 4, "before the weak age is over")
            let second = try trial.begin(try weak(1), at: 6, "when the weak age is over, while the first is in flight,")
            trial.expect(first.number != second.number, "two leases should have two numbers")
            try trial.expectInFlight(try weak(1), at: 10, "that arrived just after the second")
            try trial.store.release(first)
            try trial.store.commit(second, now: .seconds(20))
            try trial.expectDone(try weak(1), at: 10, "that arrived just after the second, which is done,")
            try trial.begin(try weak(1), at: 0, "that arrived with the first, which was released,")
        },
        Self("messages of a backlog are compared by arrival time", window: brief) { trial in
            for arrival in stride(from: Int64(0), to: 100, by: 20) {
                let lease = try trial.begin(try weak(1), at: arrival, "of a backlog")
                try trial.store.commit(lease, now: .seconds(100 + arrival / 20))
            }
            for arrival in stride(from: Int64(0), to: 100, by: 20) {
                try trial.expectDone(try weak(1), at: arrival + 3, "that arrived just after one of a backlog")
            }
            try trial.begin(try weak(1), at: 10, "that arrived between two of a backlog")
        },
        Self("whichever of two messages with a weak key arrived first", window: brief) { trial in
            try trial.handle(try weak(1), at: 100)
            try trial.expectDone(try weak(1), at: 97, "that arrived just before the handled one")
            try trial.begin(try weak(1), at: 94, "that arrived long before the handled one")
            let lease = try trial.begin(try weak(2), at: 100, "the first time")
            try trial.expectInFlight(try weak(2), at: 97, "that arrived just before the one in flight")
            try trial.begin(try weak(2), at: 94, "that arrived long before the one in flight")
        },
        Self("a copy with a weak key may wait for as long as the window's age", window: brief) { trial in
            let lease = try trial.begin(try weak(1), at: 0, "the first time")
            try trial.store.commit(lease, now: .seconds(1000))
            for number in 2...20 { try trial.handle(try weak(number), at: 1059) }
            try trial.expectDone(try weak(1), at: 3, "whose copy waited, while others came and went,")
        },
    ]
}
