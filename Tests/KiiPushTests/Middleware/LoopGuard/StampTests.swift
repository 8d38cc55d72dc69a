import KiiPushTesting
import Synchronization
import Testing

@testable import KiiPush

/// An object on a server that keeps the fields which a write does not name.
final class PatchedObject: Sendable {
    private struct State {
        var fields: [String: DataValue] = ["target": .number("20")]
        var modifiedAt: Int64 = 0
    }

    static let object = KiiObject(bucket: KiiBucket(scope: .app, name: "thermostats"), id: "hall")

    private let state = Mutex(State())
    private let clock: ManualClock

    init(_ clock: ManualClock) { self.clock = clock }

    /// The fields as the REST API returns them.
    var fields: [String: DataValue] {
        state.withLock { state in
            state.fields.merging(["_modified": .number("\(state.modifiedAt)")]) { $1 }
        }
    }

    /// Changes some fields; returns when.
    func patch(_ changes: [String: DataValue]) -> Int64 {
        let now = 1_700_000_000_000 + clock.now.nanoseconds / 1_000_000
        return state.withLock { state in
            state.modifiedAt = max(now, state.modifiedAt + 1)
            state.fields.merge(changes) { $1 }
            return state.modifiedAt
        }
    }

    /// The event of the last change, as a transport brings it.
    func event(by sender: String, _ style: PayloadFixture.KeyStyle) -> RawPayload {
        let time = state.withLock { $0.modifiedAt }
        return PayloadFixture.pushToApp(
            bucket: "thermostats", object: "hall", sender: sender, sentAt: time + 20, modifiedAt: time
        ).payload(style)
    }
}

/// A device that rounds the target of the thermostat, and says so with its stamp.
struct Rounder {
    let receiver: PushReceiver
    let cloud: PatchedObject

    enum Manner: String, CaseIterable {
        /// Gives the stamp alone.
        case plain
        /// Gives the object's fields.
        case exact
    }

    init(_ number: Int, _ cloud: PatchedObject, _ clock: ManualClock, _ manner: Manner, reports: Bool = true) {
        self.cloud = cloud
        receiver = PushReceiver(me: [.thing(id: "th.\(number)")], clock: clock)
        receiver.onPushToApp("round", bucket: "thermostats", object: "*") { event, context in
            let fields = cloud.fields
            let context =
                switch manner {
                case .plain: try context.continuing(fields[Lineage.key]?.string)
                case .exact: try context.continuing(fields: fields)
                }
            let target = fields["target"]?.double ?? 0
            guard target != target.rounded() else { return }
            var changes = ["target": DataValue.number("\(target.rounded())")]
            context.stamp(&changes)
            let write = try context.willWrite(event.object)
            let modifiedAt = cloud.patch(changes)
            write.done(modifiedAt: reports ? modifiedAt : nil)
        }
    }
}

extension RawPayload {
    fileprivate func arrived(at moment: MonotonicInstant) -> RawPayload {
        var payload = self
        payload.arrivedAt = moment
        return payload
    }
}

struct StampTests {
    let clock = ManualClock()

    // MARK: Honest changes

    @Test(
        "somebody who changes one field, and keeps the stamp of the last handler, is handled however often",
        arguments: [1, 1000, 5000, 60_000, 3_600_000], Rounder.Manner.allCases)
    func patched(milliseconds: Int, manner: Rounder.Manner) async {
        for style in PayloadFixture.KeyStyle.allCases {
            let cloud = PatchedObject(clock)
            let device = Rounder(1, cloud, clock, manner)
            device.receiver.loopGuard?.settings = LoopSettings().without(.rate)
            for number in 0..<30 {
                clock.advance(by: .milliseconds(milliseconds))
                _ = cloud.patch(["target": .number("\(number).3")])
                let outcome = await device.receiver.receive(cloud.event(by: "U-person", style))
                #expect(outcome.description == "handled", "change \(number), \(style)")
                // The device's own event.
                let own = await device.receiver.receive(cloud.event(by: "th.1", style))
                #expect(own.name == "looped", "change \(number), \(style)")
            }
        }
    }

    @Test("so is somebody who changes it once a minute while no handler reports its writes")
    func unreported() async {
        let cloud = PatchedObject(clock)
        let device = Rounder(1, cloud, clock, .plain, reports: false)
        for number in 0..<30 {
            clock.advance(by: .seconds(60))
            _ = cloud.patch(["target": .number("\(number).3")])
            #expect(await device.receiver.receive(cloud.event(by: "U-person", .long)).description == "handled")
        }
    }

    @Test("two devices that answer a person in turn, every second, handle every change")
    func twoDevices() async {
        let cloud = PatchedObject(clock)
        let devices = (0..<2).map { Rounder($0, cloud, clock, .exact) }
        for device in devices { device.receiver.loopGuard?.settings = LoopSettings().without(.rate) }
        for number in 0..<30 {
            clock.advance(by: .seconds(1))
            _ = cloud.patch(["target": .number("\(number).3")])
            let event = cloud.event(by: "U-person", .long)
            for place in 0..<2 {
                #expect(await devices[(number + place) % 2].receiver.receive(event).description == "handled")
            }
            let answer = cloud.event(by: "th.\(number % 2)", .long)
            #expect(await devices[number % 2].receiver.receive(answer).name == "looped")
            #expect(await devices[(number + 1) % 2].receiver.receive(answer).description == "handled")
        }
    }

    /// A way to write what a device is called for: each message is answered, however many wait.
    enum Answer: String, CaseIterable {
        /// Announces the write and reports it.
        case reported
        /// Does neither: the device's identity is enough.
        case silent
    }

    @Test("a backlog of changes is handled by a handler that writes for each of them", arguments: Answer.allCases)
    func backlog(answer: Answer) async {
        for style in PayloadFixture.KeyStyle.allCases {
            for manner in Rounder.Manner.allCases {
                let cloud = PatchedObject(clock)
                let receiver = receiver(1, cloud, manner, answer, takes: .milliseconds(20))
                var backlog: [RawPayload] = []
                for number in 0..<100 {
                    clock.advance(by: .milliseconds(5))
                    _ = cloud.patch(["target": .number("\(number)")])
                    backlog.append(cloud.event(by: "U-person", style))
                }
                let arrivedAt = clock.now
                for (number, payload) in backlog.enumerated() {
                    let outcome = await receiver.receive(payload.arrived(at: arrivedAt))
                    #expect(outcome.description == "handled", "\(number), \(style), \(manner)")
                }
            }
        }
    }

    @Test("a stream of changes, each handled while the next ones come, is handled whole", arguments: Answer.allCases)
    func stream(answer: Answer) async {
        for manner in Rounder.Manner.allCases {
            let cloud = PatchedObject(clock)
            let receiver = receiver(1, cloud, manner, answer, takes: .milliseconds(1))
            var waiting: [(payload: RawPayload, arrivedAt: MonotonicInstant)] = []
            for number in 0..<400 {
                clock.advance(by: .milliseconds(4))
                _ = cloud.patch(["target": .number("\(number)")])
                waiting.append((cloud.event(by: "U-person", .long), clock.now))
                guard waiting.count > 10 else { continue }
                let next = waiting.removeFirst()
                let outcome = await receiver.receive(next.payload.arrived(at: next.arrivedAt))
                #expect(outcome.description == "handled", "\(number), \(manner)")
            }
        }
    }

    // MARK: Loops

    /// A device that writes for each message.
    private func receiver(
        _ number: Int, _ cloud: PatchedObject, _ manner: Rounder.Manner, _ answer: Answer,
        me: [Sender]? = nil, takes duration: Duration, wrote: @escaping @Sendable () -> Void = {}
    ) -> PushReceiver {
        let receiver = PushReceiver(
            me: me ?? [.thing(id: "th.\(number)")], loop: LoopSettings().without(.rate), clock: clock)
        receiver.onPushToApp("answer", bucket: "thermostats", object: "*") { [clock] event, context in
            let fields = cloud.fields
            let context =
                switch manner {
                case .plain: try context.continuing(fields[Lineage.key]?.string)
                case .exact: try context.continuing(fields: fields)
                }
            clock.advance(by: duration)
            var changes = ["by": DataValue.string("th.\(number)")]
            context.stamp(&changes)
            let write = answer == .reported ? try context.willWrite(event.object) : nil
            let modifiedAt = cloud.patch(changes)
            write?.done(modifiedAt: modifiedAt)
            wrote()
        }
        return receiver
    }

    @Test("a loop with several messages under way ends", arguments: [1, 2, 5], [1, 2])
    func strands(strands: Int, devices: Int) async {
        let shapes: [(style: PayloadFixture.KeyStyle, manner: Rounder.Manner)] = [
            (.long, .exact), (.long, .plain), (.short, .plain),
        ]
        for (style, manner) in shapes {
            for answer in Answer.allCases where devices > 1 || answer == .silent {
                for duration in [0, 1, 30] {
                    let cloud = PatchedObject(clock)
                    let events = Mutex<[(payload: RawPayload, from: Int, at: MonotonicInstant)]>([])
                    let receivers = (0..<devices).map { number in
                        // One device: nothing tells that the writes are its own.
                        receiver(
                            number, cloud, manner, answer, me: devices > 1 ? nil : [],
                            takes: .milliseconds(duration)
                        ) { [clock] in
                            let event = cloud.event(by: "th.\(number)", style)
                            events.withLock { $0.append((event, number, clock.now.advanced(by: .milliseconds(50)))) }
                        }
                    }
                    for _ in 0..<strands {
                        clock.advance(by: .milliseconds(7))
                        _ = cloud.patch(["target": .number("1")])
                        let event = cloud.event(by: "U-person", style)
                        events.withLock { $0.append((event, -1, clock.now)) }
                    }
                    var handled = 0
                    while handled < 100, let next = events.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) {
                        if next.at > clock.now { clock.advance(by: clock.now.duration(to: next.at)) }
                        for (number, receiver) in receivers.enumerated() {
                            let outcome = await receiver.receive(next.payload.arrived(at: next.at))
                            if next.from == number, devices > 1 { continue }
                            if outcome.name == "handled" { handled += 1 }
                        }
                    }
                    #expect(
                        handled < 100,
                        "\(handled) \(style) \(manner) \(answer), \(duration) ms")
                }
            }
        }
    }

    /// A loop of two devices that overwrite each other; how many messages were handled, at most `most`.
    private func loop(
        _ manner: Rounder.Manner, most: Int, _ style: PayloadFixture.KeyStyle = .long, every pause: Duration,
        late: Duration = .zero, announces: Bool = false
    ) async -> Int {
        let cloud = PatchedObject(clock)
        let handled = Mutex(0)
        let receivers = (0..<2).map { number in
            let receiver = PushReceiver(me: [.thing(id: "th.\(number)")], clock: clock)
            receiver.onPushToApp("loop", bucket: "thermostats", object: "*") { event, context in
                var fields = cloud.fields
                let context =
                    switch manner {
                    case .plain: try context.continuing(fields[Lineage.key]?.string)
                    case .exact: try context.continuing(fields: fields)
                    }
                fields = ["by": .string("th.\(number)")]
                context.stamp(&fields)
                handled.withLock { $0 += 1 }
                let write = announces ? try context.willWrite(event.object) : nil
                let modifiedAt = cloud.patch(fields)
                write?.done(modifiedAt: modifiedAt)
            }
            return receiver
        }
        _ = cloud.patch(["target": .number("1")])
        var event = cloud.event(by: "U-person", style)
        for number in 0..<most {
            clock.advance(by: late)
            let outcome = await receivers[number % 2].receive(event)
            guard outcome.name == "handled" else { break }
            event = cloud.event(by: "th.\(number % 2)", style)
            clock.advance(by: pause)
        }
        return handled.withLock { $0 }
    }

    @Test("a loop over stamped objects ends after eight hops", arguments: Rounder.Manner.allCases)
    func loops(manner: Rounder.Manner) async {
        for style in PayloadFixture.KeyStyle.allCases {
            #expect(await loop(manner, most: 100, style, every: .milliseconds(50)) == 9)
            #expect(await loop(manner, most: 100, style, every: .seconds(2), late: .seconds(8)) == 9)
        }
    }

    @Test("so does a loop whose messages are an hour late, once each device has had one answer of the server")
    func slowLoop() async {
        #expect(await loop(.exact, most: 100, every: .zero, late: .seconds(3600), announces: true) == 11)
        // Where all that a device ever gets is late, and it reports nothing, the rate is left.
        #expect(await loop(.exact, most: 19, every: .zero, late: .seconds(3600)) == 19)
    }

    // MARK: One stamp

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

    @Test("a stamp without a time is believed by the guard that made it, for thirty seconds of its own clock")
    func untimed() {
        let memory = Memory()
        let stamp = memory.known.make(Lineage(hops: 1, origin: "x"), by: "x", for: 1, now: .seconds(5))
        #expect(stamp.time == nil)
        let finding = StampFinding(
            stamp: stamp, modifiedAt: 1, eventModifiedAt: nil, sentAt: nil, object: nil)
        #expect(memory.believes(finding, now: .seconds(35)))
        #expect(!memory.believes(finding, now: .seconds(36)))
        for number in 0..<UInt64(StampMemory.limit) {
            _ = memory.known.make(Lineage(hops: 2, origin: "\(number)"), by: "x", for: number, now: .seconds(6))
        }
        #expect(!memory.believes(finding, now: .seconds(6)), "what was made first is forgotten")
    }

    /// What is known when a device finds its own stamp, written at time 0: milliseconds after it, and whether the stamp
    /// that was there before counts, this one, or none.
    static let own: [(object: Int64?, event: Int64?, sent: Int64?, hasEvent: Bool, hops: Int?)] = [
        (0, 0, nil, false, 4), (nil, 0, nil, false, 4), (nil, 0, nil, true, 4),
        // The object was changed since, though the message is the write's event.
        (1, 0, nil, false, nil),
        (0, -1, nil, false, 3), (nil, -1, nil, false, 3), (nil, 1, nil, false, nil),
        (nil, nil, 0, false, 4), (nil, nil, 1000, false, 4), (nil, nil, 1001, false, nil), (nil, nil, -1, false, 3),
        // The write's event has come, so this message is about another change.
        (nil, nil, 500, true, 3), (nil, nil, 1001, true, nil), (nil, nil, nil, true, 3), (nil, nil, nil, false, 4),
    ]

    @Test("a device's own stamp counts for the event of its write alone", arguments: own)
    func ownStamp(object: Int64?, event: Int64?, sent: Int64?, hasEvent: Bool, hops: Int?) {
        var memory = StampMemory()
        let place = ResourceKey(1)
        memory.learn(Self.now, arrivedAt: .seconds(0), now: .seconds(0))
        let others = Lineage(hops: 3, origin: "x", time: Self.now)
        let first = memory.cause(
            .init(
                stamp: others, modifiedAt: Self.now, eventModifiedAt: Self.now, sentAt: nil, object: place,
                messageID: 1), hops: 8, now: .seconds(0))
        #expect(first == others)
        let stamp = memory.make(others.next, by: "y", for: 1, now: .seconds(1))
        let written = Self.now + 1010
        memory.wrote(place, written, for: 1, hasEvent: hasEvent, now: .seconds(1))
        let cause = memory.cause(
            .init(
                stamp: stamp, modifiedAt: object.map { written + $0 }, eventModifiedAt: event.map { written + $0 },
                sentAt: sent.map { written + $0 }, object: place, messageID: 2, arrivedAt: .seconds(2)),
            hops: 8, now: .seconds(3))
        #expect(cause?.hops == hops)
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
        #expect(server.milliseconds(at: .seconds(20)) == Self.now + 10_000)
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
            memory.known.wrote(ResourceKey(1), time, for: 1, hasEvent: false, now: now)
            for stamp in [stamp, Lineage(hops: 1, origin: "y", time: time)] {
                _ = memory.believes(
                    .init(stamp: stamp, modifiedAt: time, eventModifiedAt: time, sentAt: time, object: ResourceKey(1)),
                    now: now)
            }
        }
    }
}
