import KiiPushTesting
import Synchronization
import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

/// Which stamps in objects count, and what the next stamp says.
struct StampCountTests {
    private static let now: Int64 = 1_700_000_000_000

    /// A device that reads an object's stamp, and stamps it again.
    private final class Device: Sendable {
        private let receiver: PushReceiver
        private let object = Mutex<(stamp: Lineage, modifiedAt: Int64?)?>(nil)
        private let next = Mutex<Int?>(nil)

        init() {
            receiver = PushReceiver(clock: ManualClock()) {
                LoopGuard(me: [.thing(id: "th.y")], settings: .standard.without(.pace))
            }
            receiver.onAny { [self] _, context in
                guard let (stamp, modifiedAt) = object.withLock({ $0 }) else { return }
                let stamped = try context.continuing(stamp.stamp, modifiedAt: modifiedAt).stamp
                next.withLock { $0 = Lineage(stamped)?.hops }
            }
        }

        /// The hops of the stamp that it writes; nil if the message ends as a loop.
        func hops(after stamp: Lineage, object modifiedAt: Int64?, event: Int64?, sent: Int64) async -> Int? {
            object.withLock { $0 = (stamp, modifiedAt) }
            next.withLock { $0 = nil }
            let payload = PayloadFixture.pushToApp(sentAt: sent, modifiedAt: event).payload(.long)
            _ = await receiver.receive(payload)
            return next.withLock { $0 }
        }
    }

    /// A stamp's age when the object was modified, in milliseconds, and whether it counts.
    static let ages: [(age: Int64?, counts: Bool)] = [
        (0, true), (1, true), (30_000, true), (30_001, false), (3_600_000, false), (now, false),
        (-30_000, true), (-30_001, false), (-3_600_000, false), (nil, false),
    ]

    @Test("another device's stamp counts for thirty seconds, and not without a time", arguments: ages)
    func age(age: Int64?, counts: Bool) async {
        let stamp = Lineage(hops: 3, origin: "x", time: age.map { Self.now - $0 })
        // The object's time, else the event's, else when it was sent.
        let times: [(Int64?, Int64?, Int64)] = [(Self.now, 1, 1), (nil, Self.now, 1), (nil, nil, Self.now)]
        for (object, event, sent) in times {
            #expect(await Device().hops(after: stamp, object: object, event: event, sent: sent) == (counts ? 4 : 1))
        }
    }

    @Test("a stamp no longer counts when the object was modified after it was found", arguments: [true, false])
    func foundBefore(isExact: Bool) async {
        let device = Device()
        let stamps = (0..<2).map { Lineage(hops: 3, origin: "x", time: Self.now + $0) }
        for (stamp, time, hops) in [(0, 2, 4), (0, 2, 4), (0, 1, 4), (0, 3, 1), (1, 3, 4), (1, 4, 1), (0, 2, 4)] {
            let time = Self.now + Int64(time)
            let found = await device.hops(after: stamps[stamp], object: isExact ? time : nil, event: time, sent: time)
            #expect(found == hops, "\(time)")
        }
    }

    /// When an object with a device's own stamp of 4 hops was modified, and the hops of the next stamp.
    ///
    /// The times are milliseconds after the stamp's; two are those of the message.
    static let own: [(object: Int64?, event: Int64?, sent: Int64, hops: Int)] = [
        // The message tells of the object's last write, which left the stamp in it.
        (0, 0, 20, 1), (nil, 0, 20, 1), (1000, 1000, 1020, 1), (0, nil, 20, 1),
        // It waited while this device wrote for another.
        (0, -1, 19, 4), (10, 5, 25, 4), (0, nil, -1, 4),
        // Nothing says so, or it was long ago.
        (nil, -1, 19, 1), (nil, nil, -1, 1), (30_001, 0, 20, 1),
    ]

    @Test("a device's own stamp adds no hop for messages that waited meanwhile", arguments: own)
    func ownStamp(object: Int64?, event: Int64?, sent: Int64, hops: Int) async {
        for (count, next) in [(4, hops), (8, hops == 4 ? 8 : 1), (9, hops == 4 ? nil : 1), (0, 1)] {
            let stamp = Lineage(hops: count, origin: "x", time: Self.now, maker: "th.y")
            let found = await Device().hops(
                after: stamp, object: object.map { Self.now + $0 }, event: event.map { Self.now + $0 },
                sent: Self.now + sent)
            #expect(found == next, "\(count)")
        }
    }

    @Test("remembers a bounded number of stamps")
    func forgets() {
        var found = FoundStamps()
        let stamp = Lineage(hops: 3, origin: "x", time: Self.now)
        #expect(found.isCurrent(stamp, 5) && found.isCurrent(stamp, 5) && !found.isCurrent(stamp, 6))
        for number in 0..<FoundStamps.limit { _ = found.isCurrent(Lineage(hops: number, origin: "y"), 5) }
        #expect(found.isCurrent(stamp, 6) && !found.isCurrent(stamp, 7))
    }

    @Test("does not trap on any times", arguments: [Int64.min, -1, 0, now, .max])
    func extremes(time: Int64) async {
        for other in [Int64.min, -1, 0, Self.now, .max] {
            for maker in ["x", "th.y"] {
                let stamp = Lineage(hops: 3, origin: "x", time: time, maker: maker)
                #expect(await Device().hops(after: stamp, object: other, event: time, sent: other) != nil)
                #expect(await Device().hops(after: stamp, object: nil, event: nil, sent: other) != nil)
            }
        }
    }
}
