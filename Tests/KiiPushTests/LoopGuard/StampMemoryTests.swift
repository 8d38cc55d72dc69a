import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

/// What one guard remembers of stamps, and of the server's time.
struct StampMemoryTests {
    /// A memory that an expectation may ask, though it changes by that.
    private final class Memory {
        var known = StampMemory()

        func believes(_ finding: StampFinding, now: MonotonicInstant) -> Bool {
            var finding = finding
            finding.arrivedAt = now
            return known.cause(finding, hops: 8, now: now) != nil
        }
    }

    private static let now: Int64 = 1_700_000_000_000

    /// A stamp's age when the object was modified, in milliseconds, and whether it is believed.
    static let ages: [(age: Int64?, isBelieved: Bool)] = [
        (0, true), (1, true), (30_000, true), (30_001, false), (3_600_000, false), (now, false),
        (-30_000, true), (-30_001, false), (-3_600_000, false), (nil, false),
    ]

    @Test("another device's stamp counts for thirty seconds, and not without a time", arguments: ages)
    func age(age: Int64?, isBelieved: Bool) {
        let stamp = Lineage(hops: 3, origin: "x", time: age.map { Self.now - $0 })
        for (modified, event, sent) in [(Self.now, nil, nil), (nil, Self.now, nil), (nil, nil, Self.now)] {
            let finding = StampFinding(
                stamp: stamp, modifiedAt: modified, eventModifiedAt: event, sentAt: sent, object: nil)
            let memory = Memory()
            #expect(memory.believes(finding, now: .seconds(0)) == isBelieved)
        }
        let untimed = StampFinding(stamp: stamp, modifiedAt: nil, eventModifiedAt: nil, sentAt: nil, object: nil)
        let memory = Memory()
        #expect(!memory.believes(untimed, now: .seconds(0)))
        memory.known.learn(Self.now, arrivedAt: .seconds(0), now: .seconds(0))
        #expect(memory.believes(untimed, now: .seconds(0)) == isBelieved)
    }

    @Test("an object written since the event continues the last writer's lineage")
    func writtenSince() {
        let memory = Memory()
        memory.known.learn(Self.now, arrivedAt: .seconds(0), now: .seconds(0))
        let stamp = Lineage(hops: 3, origin: "x", time: Self.now + 3_600_000)
        let finding = StampFinding(stamp: stamp, modifiedAt: nil, eventModifiedAt: Self.now, sentAt: nil, object: nil)
        #expect(!memory.believes(finding, now: .seconds(10)))
        #expect(memory.believes(finding, now: .seconds(3600)))
    }

    @Test("a stamp is stale after a later modification of the same object")
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

    /// What is known when a device finds its own stamp of 4 hops, written at time 0: milliseconds after it, and the
    /// hops of the stamp that counts: this one, the one before it, or none.
    static let own: [(object: Int64?, event: Int64?, sent: Int64?, hops: Int?)] = [
        (0, 0, nil, 4), (nil, 0, nil, 4), (0, -1, nil, 3), (nil, -1, nil, 3), (nil, nil, nil, 3), (nil, nil, 0, 3),
        (nil, nil, 1000, 3), (nil, nil, -1, 3),
        // The object was changed since.
        (1, 0, nil, nil), (nil, 1, nil, nil), (nil, nil, 1001, nil),
    ]

    @Test("a device's own stamp counts for its event only; else the one before it does", arguments: own, [8, 3])
    func ownStamp(times: (object: Int64?, event: Int64?, sent: Int64?, hops: Int?), limit: Int) {
        var memory = StampMemory()
        let place = ResourceKey(1)
        memory.learn(Self.now, arrivedAt: .seconds(0), now: .seconds(0))
        let others = Lineage(hops: 3, origin: "x", time: Self.now)
        let first = memory.cause(
            .init(
                stamp: others, modifiedAt: Self.now, eventModifiedAt: Self.now, sentAt: nil, object: place,
                messageID: 1), hops: limit, now: .seconds(0))
        #expect(first == others)
        let stamp = memory.make(others.next, by: "y", for: 1, now: .seconds(1))
        let written = Self.now + 1010
        memory.wrote(place, written, for: 1, now: .seconds(1))
        var finding = StampFinding(
            stamp: stamp, modifiedAt: times.object.map { written + $0 },
            eventModifiedAt: times.event.map { written + $0 }, sentAt: times.sent.map { written + $0 }, object: place,
            messageID: 2, arrivedAt: .seconds(2))
        // Beyond the limit it counts for earlier changes, too.
        let isOfLoop = limit < 4 && (times.event ?? times.sent ?? 0) < 0
        #expect(memory.cause(finding, hops: limit, now: .seconds(3))?.hops == (isOfLoop ? 4 : times.hops))
        finding.arrivedAt = .seconds(32)
        let isLate = times.hops == 3 && !isOfLoop
        #expect(
            memory.cause(finding, hops: limit, now: .seconds(32))?.hops == (isOfLoop ? 4 : isLate ? nil : times.hops))
    }

    @Test("remembers a bounded number of its own stamps")
    func forgets() {
        var memory = StampMemory()
        let others = Lineage(hops: 3, origin: "x", time: Self.now)
        func found(_ stamp: Lineage, by messageID: UInt64) -> StampFinding {
            .init(stamp: stamp, modifiedAt: Self.now, eventModifiedAt: nil, sentAt: nil, messageID: messageID)
        }
        #expect(memory.cause(found(others, by: 1), hops: 8, now: .seconds(0)) == others)
        let stamp = memory.make(others.next, by: "y", for: 1, now: .seconds(0))
        #expect(memory.cause(found(stamp, by: 2), hops: 8, now: .seconds(0)) == others)
        for number in 0..<UInt64(StampMemory.limit) {
            _ = memory.make(Lineage(hops: 2, origin: "\(number)"), by: "y", for: 3 + number, now: .seconds(0))
        }
        #expect(memory.cause(found(stamp, by: 2), hops: 8, now: .seconds(0)) == nil)
    }

    @Test("stamps made within one millisecond differ")
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

    @Test("estimates the server's time from the least delayed message")
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

    @Test("follows a clock that runs fast")
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

    @Test("does not trap on times at the ends of the clock's range", arguments: [Int64.min, -1, 0, 1, .max])
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
