import KiiPushTesting
import Testing

@testable import KiiPush

struct BreakerTableTests {
    private let limit = RateLimits(LoopRate(messages: 1)).narrow

    /// How many breakers there is room for by now, used or not.
    private func room(_ table: BreakerTable) -> Int {
        let breakers = Mirror(reflecting: table).children.first { $0.label == "breakers" }?.value as? any Collection
        return breakers?.count ?? .max
    }

    @Test("of any number of keys it keeps as many as it may, and says how many it forgot too early")
    func manyKeys() {
        var table = BreakerTable(capacity: 1000)
        var unplaced = 0
        for number in 0..<50_000 {
            guard let place = table.place(of: ResourceKey(number), limit, 0) else {
                unplaced += 1
                continue
            }
            _ = table.use(place) { $0.judge(Arrival(time: 0, now: 0), limit) }
        }
        #expect(unplaced == 0)
        #expect(table.count == 1000)
        #expect(room(table) == 1000)
        #expect(table.forgottenEarly == 49_000)
    }

    @Test("keys whose messages no longer count are forgotten in passing, two for each new one, and not too early")
    func idleKeys() {
        var table = BreakerTable(capacity: 1000)
        for number in 0..<50_000 {
            // One in 20 ms: of each key nothing counts after ten seconds, or 500 others.
            let now = Int64(number) * 20_000_000
            if let place = table.place(of: ResourceKey(number), limit, now) {
                _ = table.use(place) { $0.judge(Arrival(time: now, now: now), limit) }
            }
        }
        #expect(table.forgottenEarly == 0)
        #expect((500...1000).contains(table.count))
    }

    @Test("one that is open is never forgotten for others, nor the one that came last")
    func openStays() throws {
        var table = BreakerTable(capacity: 100)
        for number in 0..<7 {
            let found = table.place(of: ResourceKey(-1 - number), limit, 0)
            let place = try #require(found)
            for _ in 0..<2 { _ = table.use(place) { $0.judge(Arrival(time: 0, now: 0), limit) } }
        }
        for number in 0..<10_000 {
            let found = table.place(of: ResourceKey(number), limit, 0)
            let place = try #require(found)
            _ = table.use(place) { $0.judge(Arrival(time: 0, now: 0), limit) }
        }
        #expect(table.trippedBreakers.count == 7)
        for number in 0..<7 { #expect(table.find(ResourceKey(-1 - number)) != nil) }
        #expect(table.find(ResourceKey(9999)) != nil)
        #expect(table.count == 100)
        #expect(table.forgottenEarly == 10_000 - 93)
    }

    @Test("when all that it may keep are open, a new key finds no place, and does when one is forgotten")
    func allOpen() throws {
        var table = BreakerTable(capacity: 20)
        for number in 0..<20 {
            let found = table.place(of: ResourceKey(number), limit, 0)
            let place = try #require(found)
            for _ in 0..<2 { _ = table.use(place) { $0.judge(Arrival(time: 0, now: 0), limit) } }
        }
        let (new, known) = (table.place(of: ResourceKey(20), limit, 0), table.place(of: ResourceKey(3), limit, 0))
        #expect(new == nil)
        #expect(known != nil)
        // Nothing is held of them, and nothing more comes: ten minutes after they have listened they go.
        let later: Int64 = 605_000_000_000
        let later20 = table.place(of: ResourceKey(20), limit, later)
        #expect(later20 != nil)
        for number in 100..<120 { _ = table.place(of: ResourceKey(number), limit, later) }
        #expect(table.trippedBreakers.isEmpty)
        #expect(table.forgottenEarly == 0)
    }
}
