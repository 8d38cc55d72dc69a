import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

/// What the contract of a seen store, which the documented code runs on this one, leaves open.
struct InMemorySeenStoreTests {
    @Test("counts messages evicted by count, not those that aged out")
    func evictedEarly() {
        let store = InMemorySeenStore(window: SeenWindow(age: .seconds(60), count: 2))
        for number in 0..<5 { store.handle(.numbered(number), at: Int64(number)) }
        #expect(store.counts?.strong == .init(remembered: 2, evictedEarly: 3))
        // Both that are left have gone by age when the next two come.
        for number in 5..<7 { store.handle(.numbered(number), at: 100) }
        #expect(store.counts?.strong == .init(remembered: 2, evictedEarly: 3))
    }

    @Test("tells many messages in flight with one weak key apart by their arrival")
    func manyOfOneWeakKey() {
        let store = InMemorySeenStore()
        let keys = DedupeKeys.numbered(1, strength: .weak)
        let arrivals = (0..<600).map { Int64($0 * 10) }
        let leases = arrivals.compactMap { store.begin(keys, now: .seconds($0)).lease }
        #expect(Set(leases.map(\.number)).count == 600)
        // From the middle to both ends, so that the first and the last that are left are asked for too.
        for index in (0..<300).flatMap({ [299 - $0, 300 + $0] }) {
            let copy = store.begin(keys, now: .seconds(arrivals[index] + 1))
            #expect(copy == .inFlight)
            if index % 2 == 0 { store.commit(leases[index], now: .seconds(9000)) } else { store.release(leases[index]) }
        }
        #expect(store.counts == SeenCounts(weak: .init(remembered: 300)))
        for index in 0..<600 where index % 2 == 0 {
            #expect(store.begin(keys, now: .seconds(arrivals[index] + 1)) == .done)
        }
    }

    @Test("tells events with one push time apart by their time of modification", arguments: [8, 500])
    func manyOfOneKey(count: Int) {
        let store = InMemorySeenStore()
        for number in 0..<count {
            guard case .fresh(let lease) = store.begin(.numbered(1, 1000 + number), now: .seconds(0)) else {
                Issue.record("event \(number) should be fresh")
                continue
            }
            if number % 2 == 0 { store.commit(lease, now: .seconds(0)) }
        }
        for number in 0..<count {
            let state = store.begin(.numbered(1, 1000 + number), now: .seconds(1))
            #expect((state == .done) == (number % 2 == 0) && state.isKnown)
        }
        #expect(
            store.begin(.numbered(1), now: .seconds(1)).isKnown, "one that names no modification repeats one of them")
        #expect(!store.begin(.numbered(1, 5), now: .seconds(1)).isKnown)
    }

    @Test("a clock that was set back keeps no more messages than the window counts")
    func setBack() {
        let store = InMemorySeenStore(window: SeenWindow(count: 10))
        for number in 0..<10 { store.handle(.numbered(number), at: 1_000_000_000) }
        for number in 10..<20 { store.handle(.numbered(number), at: Int64(number)) }
        #expect(store.counts?.strong == .init(remembered: 10))
        for number in 20..<30 { store.handle(.numbered(number), at: 30) }
        #expect(store.counts?.strong == .init(remembered: 10, evictedEarly: 10))
        // Forward again: all are too old, and go as new ones come.
        for number in 30..<40 { store.handle(.numbered(number), at: 2_000_000_000) }
        #expect(store.counts?.strong == .init(remembered: 10, evictedEarly: 10))
    }

    @Test("a call that waited evicts no young message")
    func lateQuestion() {
        let store = InMemorySeenStore(window: SeenWindow(age: .seconds(60), count: 10))
        for number in 0..<5 { store.handle(.numbered(number), at: 1000) }
        for number in 10..<15 { _ = store.begin(.numbered(number), now: .seconds(1)) }
        store.handle(.numbered(5), at: 1)
        for number in 0..<5 { #expect(store.begin(.numbered(number), now: .seconds(1000)) == .done) }
    }

    @Test("a key that two messages share outlives the first of them")
    func sharedSecondKey() {
        var table = SeenTable(SeenWindow(age: .seconds(60), count: 10))
        table.remember(.numbered(1, 9), .seconds(0), arrivedAt: .seconds(0))
        table.remember(.numbered(2, 9), .seconds(30), arrivedAt: .seconds(30))
        #expect(table.begin(.numbered(9), .seconds(70)) == .done)
        #expect(table.begin(.numbered(1), .seconds(70)) != .done)
        #expect(table.begin(.numbered(9), .seconds(91)) != .done)
    }

    @Test("a message that is handled again outlives its old entry")
    func handledAnew() {
        let store = InMemorySeenStore(window: SeenWindow(age: .seconds(60)))
        for number in 0..<10 { store.handle(.numbered(number), at: 0) }
        // A few entries are taken out a call, so the old one of the last message is still waiting for that.
        store.handle(.numbered(9), at: 100)
        for _ in 0..<10 { #expect(store.begin(.numbered(9), now: .seconds(101)) == .done) }
    }

    @Test("a negative count remembers nothing, and an unbounded age never ends")
    func extremes() {
        #expect(SeenWindow(count: -1).count == 0)
        let store = InMemorySeenStore(window: SeenWindow(age: .seconds(Int64.max)))
        store.handle(.numbered(1), at: 0)
        #expect(store.begin(.numbered(1), now: MonotonicInstant(nanoseconds: .max - 1)) == .done)
    }

    @Test("forgets the oldest of thousands of messages first")
    func thousands() {
        let store = InMemorySeenStore(window: SeenWindow(count: 2000))
        for number in 0..<5000 { store.handle(.numbered(number), at: 0) }
        let known = (0..<5000).filter { store.begin(.numbered($0), now: .seconds(0)).isKnown }
        #expect(known == Array(3000..<5000))
    }
}

extension InMemorySeenStore {
    /// Begins a message and ends it well.
    fileprivate func handle(_ keys: DedupeKeys, at seconds: Int64) {
        guard case .fresh(let lease) = begin(keys, now: .seconds(seconds)) else {
            Issue.record("message should be fresh")
            return
        }
        commit(lease, now: .seconds(seconds))
    }
}

extension SeenState {
    fileprivate var isKnown: Bool { if case .fresh = self { false } else { true } }

    fileprivate var lease: SeenLease? {
        switch self {
        case .fresh(let lease): lease
        case .inFlight, .done: nil
        }
    }
}

extension DedupeKeys {
    /// Keys made of numbers, for tests that need no message.
    static func numbered(_ first: Int, _ second: Int? = nil, strength: Strength = .strong) -> DedupeKeys {
        func key(_ number: Int) -> DedupeKey {
            DedupeKey(first: UInt64(truncatingIfNeeded: number), second: UInt64(truncatingIfNeeded: number))
        }
        return DedupeKeys(primary: key(first), secondary: second.map(key), strength: strength)
    }
}
