import Testing

@testable import KiiPush

/// What one guard remembers of stamps, and of the server's time.
struct StampMemoryTests {
    /// A memory that an expectation may ask, though it changes by that.
    private final class Memory {
        var known = StampMemory()

        func believes(_ finding: StampFinding, now: MonotonicInstant) -> Bool {
            var finding = finding
            finding.arrivedAt = now
            return known.cause(finding, now: now) != nil
        }
    }

    private static let now: Int64 = 1_700_000_000_000

    /// A stamp's age when the object was modified, in milliseconds, and whether it is believed.
    static let ages: [(age: Int64?, isBelieved: Bool)] = [
        (0, true), (1, true), (30_000, true), (30_001, false), (3_600_000, false), (now, false),
        (-30_000, true), (-30_001, false), (-3_600_000, false), (nil, false),
    ]

    @Test("a stamp of another device is believed for thirty seconds, and none without a time", arguments: ages)
    func age(age: Int64?, isBelieved: Bool) {
        let stamp = Lineage(hops: 3, origin: "x", time: age.map { Self.now - $0 })
        for (modified, event, sent) in [(Self.now, nil, nil), (nil, Self.now, nil), (nil, nil, Self.now)] {
            let finding = StampFinding(
                stamp: stamp, modifiedAt: modified, eventModifiedAt: event, sentAt: sent, object: nil)
            let memory = Memory()
            #expect(memory.believes(finding, now: .seconds(0)) == isBelieved)
        }
        let untimed = StampFinding(
            stamp: stamp, modifiedAt: nil, eventModifiedAt: nil, sentAt: nil, object: nil)
        let memory = Memory()
        #expect(!memory.believes(untimed, now: .seconds(0)))
        memory.known.learn(Self.now, arrivedAt: .seconds(0), now: .seconds(0))
        #expect(memory.believes(untimed, now: .seconds(0)) == isBelieved)
    }

    @Test("an object that was written since the event was sent, by another handler, goes on with that one's lineage")
    func writtenSince() {
        let memory = Memory()
        memory.known.learn(Self.now, arrivedAt: .seconds(0), now: .seconds(0))
        let stamp = Lineage(hops: 3, origin: "x", time: Self.now + 3_600_000)
        let finding = StampFinding(
            stamp: stamp, modifiedAt: nil, eventModifiedAt: Self.now, sentAt: nil, object: nil)
        #expect(!memory.believes(finding, now: .seconds(10)))
        #expect(memory.believes(finding, now: .seconds(3600)))
    }

    @Test("a stamp that is known from a modification is stale after any later one, of the same object")
    func knownModification() {
        let memory = Memory()
        let stamp = Lineage(hops: 3, origin: "x", time: Self.now)
        let (one, other) = (ResourceKey(1), ResourceKey(2))
        func believes(_ modifiedAt: Int64, _ object: ResourceKey, isExact: Bool = true) -> Bool {
            memory.believes(
                .init(
                    stamp: stamp, modifiedAt: isExact ? modifiedAt : nil, eventModifiedAt: modifiedAt, sentAt: nil,
                    object: object), now: .seconds(0))
        }
        // What only the event tells proves nothing about the write.
        #expect(believes(Self.now + 5, one, isExact: false))
        #expect(believes(Self.now + 2, one))
        #expect(believes(Self.now + 2, one))
        #expect(believes(Self.now + 1, one, isExact: false))
        #expect(!believes(Self.now + 3, one))
        #expect(!believes(Self.now + 3, one, isExact: false))
        #expect(believes(Self.now + 3, other))
    }

    /// What is known when a device finds its own stamp, written at time 0: milliseconds after it, and whether the stamp
    /// counts that was there before.
    static let own: [(object: Int64?, event: Int64?, sent: Int64?, counts: Bool)] = [
        (0, 0, nil, true), (nil, 0, nil, true), (0, -1, nil, true), (nil, -1, nil, true), (nil, nil, nil, true),
        (nil, nil, 0, true), (nil, nil, 1000, true), (nil, nil, -1, true),
        // The object was changed since.
        (1, 0, nil, false), (nil, 1, nil, false), (nil, nil, 1001, false),
    ]

    @Test("of a device's own stamp the one before it counts, unless the object was changed since", arguments: own)
    func ownStamp(object: Int64?, event: Int64?, sent: Int64?, counts: Bool) {
        var memory = StampMemory()
        let place = ResourceKey(1)
        memory.learn(Self.now, arrivedAt: .seconds(0), now: .seconds(0))
        let others = Lineage(hops: 3, origin: "x", time: Self.now)
        let first = memory.cause(
            .init(
                stamp: others, modifiedAt: Self.now, eventModifiedAt: Self.now, sentAt: nil, object: place,
                messageID: 1), now: .seconds(0))
        #expect(first == others)
        let stamp = memory.make(others.next, by: "y", for: 1, now: .seconds(1))
        let written = Self.now + 1010
        memory.wrote(place, written, for: 1, now: .seconds(1))
        var finding = StampFinding(
            stamp: stamp, modifiedAt: object.map { written + $0 }, eventModifiedAt: event.map { written + $0 },
            sentAt: sent.map { written + $0 }, object: place, messageID: 2, arrivedAt: .seconds(2))
        #expect(memory.cause(finding, now: .seconds(3)) == (counts ? others : nil))
        finding.arrivedAt = .seconds(32)
        #expect(memory.cause(finding, now: .seconds(32)) == nil, "its lifetime is over")
    }

    @Test("remembers a bounded number of its own stamps")
    func forgets() {
        var memory = StampMemory()
        let others = Lineage(hops: 3, origin: "x", time: Self.now)
        func found(_ stamp: Lineage, by messageID: UInt64) -> StampFinding {
            .init(stamp: stamp, modifiedAt: Self.now, eventModifiedAt: nil, sentAt: nil, messageID: messageID)
        }
        #expect(memory.cause(found(others, by: 1), now: .seconds(0)) == others)
        let stamp = memory.make(others.next, by: "y", for: 1, now: .seconds(0))
        #expect(memory.cause(found(stamp, by: 2), now: .seconds(0)) == others)
        for number in 0..<UInt64(StampMemory.limit) {
            _ = memory.make(Lineage(hops: 2, origin: "\(number)"), by: "y", for: 3 + number, now: .seconds(0))
        }
        #expect(memory.cause(found(stamp, by: 2), now: .seconds(0)) == nil)
    }

    @Test("two devices that answer one message within a millisecond make two stamps, and so does one")
    func equalStamps() {
        let memories = (0..<2).map { _ in Memory() }
        var stamps: [Lineage] = []
        for (number, memory) in memories.enumerated() {
            memory.known.learn(Self.now, arrivedAt: .seconds(0), now: .seconds(0))
            for id: UInt64 in 0..<2 {
                let made = memory.known.make(
                    Lineage(hops: 2, origin: "x"), by: "th.\(number)", for: id, now: .seconds(0))
                #expect(Lineage(made.stamp) == made)
                stamps.append(made)
            }
        }
        #expect(Set(stamps.map(\.stamp)).count == 4)
    }

    // MARK: The server's time

    @Test("the server's time is taken from what came with the least delay, and grows with the clock")
    func serverTime() {
        var server = ServerTime()
        #expect(server.milliseconds(at: .seconds(0)) == nil)
        server.learn(-1, at: .seconds(0))
        server.learn(.max, at: .seconds(0))
        #expect(server.milliseconds(at: .seconds(0)) == nil)
        server.learn(Self.now, at: .seconds(10))
        server.learn(Self.now - 3_600_000, at: .seconds(20))
        #expect(server.milliseconds(at: .seconds(20)) == Self.now + 10_000 - 10)
        server.learn(Self.now + 10_500, at: .seconds(20))
        #expect(server.milliseconds(at: .seconds(21)) == Self.now + 11_500)
    }

    @Test("a clock that runs fast does not keep a difference for longer than twelve hours")
    func drift() {
        var server = ServerTime()
        for hour in 0..<48 {
            // The receiver's clock gains a second an hour.
            server.learn(Self.now + Int64(hour) * 3_599_000, at: .seconds(Int64(hour) * 3600))
            let error =
                (server.milliseconds(at: .seconds(Int64(hour) * 3600)) ?? 0) - Self.now - Int64(hour) * 3_599_000
            #expect((0...12_000).contains(error))
        }
    }

    @Test("times at the ends of the clock's range trap nowhere", arguments: [Int64.min, -1, 0, 1, .max])
    func extremes(nanoseconds: Int64) {
        let now = MonotonicInstant(nanoseconds: nanoseconds)
        let memory = Memory()
        for time in [Int64.min, -1, 0, Self.now, .max] {
            memory.known.learn(time, arrivedAt: now, now: now)
            memory.known.learn(time, arrivedAt: .seconds(0), now: now)
            let stamp = memory.known.make(Lineage(hops: 1, origin: "x"), by: "x", for: 1, now: now)
            #expect(Lineage(stamp.stamp) == stamp)
            memory.known.wrote(ResourceKey(1), time, for: 1, now: now)
            for stamp in [stamp, Lineage(hops: 1, origin: "y", time: time)] {
                _ = memory.believes(
                    .init(stamp: stamp, modifiedAt: time, eventModifiedAt: time, sentAt: time, object: ResourceKey(1)),
                    now: now)
            }
        }
    }
}
