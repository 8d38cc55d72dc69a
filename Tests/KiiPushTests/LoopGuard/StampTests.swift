import KiiPushTesting
import Synchronization
import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

struct StampTests {
    let clock = ManualClock()

    /// How a handler goes on with the stamp of the object that it has read.
    enum Manner: String, CaseIterable {
        /// Gives the stamp alone.
        case plain
        /// Gives the object's fields.
        case exact

        func continuing(_ context: HandlerContext, _ fields: [String: DataValue]) throws -> HandlerContext {
            switch self {
            case .plain: try context.continuing(fields[Lineage.key]?.string)
            case .exact: try context.continuing(fields: fields)
            }
        }
    }

    /// How it says that it writes.
    enum Answer: String, CaseIterable {
        /// Announces the write and reports it.
        case reported
        /// Does neither: the device's identity is enough.
        case silent
    }

    /// A device that writes a field of its own for each message.
    private func receiver(
        _ number: Int, _ cloud: PatchedObject, _ manner: Manner, _ answer: Answer = .reported,
        takes duration: Duration = .zero, wrote: @escaping @Sendable () -> Void = {}
    ) -> PushReceiver {
        let receiver = PushReceiver(me: [.thing(id: "th.\(number)")], loop: LoopSettings().without(.pace), clock: clock)
        receiver.onPushToApp(id: "answer", bucket: "thermostats", object: "*") { [clock] event, context in
            let fields = cloud.fields
            let context = try manner.continuing(context, fields)
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

    // MARK: Honest changes

    @Test(
        "handles any number of changes that leave the last stamp in the object",
        arguments: [1, 1000, 5000, 60_000, 3_600_000], Manner.allCases)
    func patched(milliseconds: Int, manner: Manner) async {
        for style in PayloadFixture.KeyStyle.allCases {
            let cloud = PatchedObject(clock)
            let receiver = receiver(1, cloud, manner)
            for number in 0..<100 {
                clock.advance(by: .milliseconds(milliseconds))
                _ = cloud.patch(["target": .number("\(number)")])
                let outcome = await receiver.receive(cloud.event(by: "U-person", style))
                #expect(outcome.description == "handled", "change \(number), \(style)")
                // The device's own event.
                let own = await receiver.receive(cloud.event(by: "th.1", style))
                #expect(own.name == "looped", "change \(number), \(style)")
            }
        }
    }

    /// How many changes wait at most, of a hundred.
    ///
    /// An event over APNs tells no time, and one that comes just after a write is taken for that write's.
    static let backlogs: [(most: Int, styles: [PayloadFixture.KeyStyle])] = [
        (10, [.long, .strings]), (100, PayloadFixture.KeyStyle.allCases),
    ]

    @Test("handles changes that wait while it writes for others", arguments: Answer.allCases, backlogs)
    func backlog(answer: Answer, backlog: (most: Int, styles: [PayloadFixture.KeyStyle])) async {
        for style in backlog.styles {
            for manner in Manner.allCases {
                let cloud = PatchedObject(clock)
                let receiver = receiver(1, cloud, manner, answer, takes: .milliseconds(20))
                var waiting: [RawPayload] = []
                for number in 1...100 {
                    clock.advance(by: .milliseconds(5))
                    _ = cloud.patch(["target": .number("\(number)")])
                    waiting.append(cloud.event(by: "U-person", style).arrived(at: clock.now))
                    while waiting.count > (number < 100 ? backlog.most : 0) {
                        let outcome = await receiver.receive(waiting.removeFirst())
                        #expect(outcome.description == "handled", "\(number), \(style), \(manner)")
                    }
                }
            }
        }
    }

    @Test(
        "never ends a message as a loop where devices derive fields from what a person changes, and hear of each other",
        arguments: [2, 3, 8], PayloadFixture.KeyStyle.allCases)
    func derived(devices: Int, style: PayloadFixture.KeyStyle) async {
        let object = KiiObject(bucket: KiiBucket(scope: .app, name: "thermostats"), id: "hall")
        for seed in 0..<5 as Range<UInt64> {
            let chaos = Chaos(delay: .milliseconds(50) ... .milliseconds(5000))
            let fleet = SimulatedFleet(devices: devices, keys: [style], chaos: chaos, seed: seed) { device in
                let receiver = PushReceiver(
                    me: [device.identity], loop: LoopSettings().without(.pace), clock: device.clock)
                receiver.onPushToApp(id: "derive", bucket: "thermostats", object: "*") { event, context in
                    var fields = device.cloud.fields(of: event.object) ?? [:]
                    let context = try context.continuing(fields: fields)
                    guard fields["of\(device.number)"] != fields["target"] else { return }
                    fields["of\(device.number)"] = fields["target"]
                    context.stamp(&fields)
                    let write = try context.willWrite(event.object)
                    write.done(modifiedAt: try device.put(event.object, fields))
                }
                return receiver
            }
            var random = SeededGenerator(seed: seed)
            var time = Duration.seconds(1)
            for number in 1...60 {
                fleet.at(time) { fleet in
                    var fields = fleet.cloud.fields(of: object) ?? [:]
                    fields["target"] = .number("\(number)")
                    fleet.cloud.put(object, fields, by: .user(id: "U-person"))
                }
                // Each device hears of all writes before the next change.
                time += .milliseconds(Int.random(in: 11_000...31_000, using: &random))
            }
            let report = await fleet.run(for: time + .seconds(60))
            #expect(report.count("handled") >= 60 * devices, "seed \(seed)")
            #expect(report.count("looped", "lineage") == 0, "seed \(seed)")
        }
    }

    // MARK: Loops

    @Test("ends a loop with several messages in flight", arguments: [1, 2, 5], [2, 3])
    func strands(strands: Int, devices: Int) async {
        for answer in Answer.allCases {
            for duration in [0, 1, 30] {
                let cloud = PatchedObject(clock)
                let events = Mutex<[(payload: RawPayload, from: Int, at: MonotonicInstant)]>([])
                let receivers = (0..<devices).map { number in
                    receiver(number, cloud, .exact, answer, takes: .milliseconds(duration)) { [clock] in
                        let event = cloud.event(by: "th.\(number)", .long)
                        events.withLock { $0.append((event, number, clock.now.advanced(by: .milliseconds(50)))) }
                    }
                }
                for _ in 0..<strands {
                    clock.advance(by: .milliseconds(7))
                    _ = cloud.patch(["target": .number("1")])
                    let event = cloud.event(by: "U-person", .long)
                    events.withLock { $0.append((event, -1, clock.now)) }
                }
                var handled = 0
                while handled < 100, let next = events.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) {
                    if next.at > clock.now { clock.advance(by: clock.now.duration(to: next.at)) }
                    for (number, receiver) in receivers.enumerated() {
                        let outcome = await receiver.receive(next.payload.arrived(at: next.at))
                        if next.from == number { continue }
                        if outcome.name == "handled" { handled += 1 }
                    }
                }
                #expect(handled < 100, "\(handled) \(answer), \(duration) ms")
            }
        }
    }

    /// A loop of two devices that overwrite each other; how many messages were handled, at most `most`.
    private func loop(
        _ manner: Manner, most: Int, _ style: PayloadFixture.KeyStyle = .long, every pause: Duration,
        late: Duration = .zero, isNamed: Bool = true
    ) async -> Int {
        let cloud = PatchedObject(clock)
        let handled = Mutex(0)
        let receivers = (0..<2).map { number in
            let receiver = PushReceiver(me: isNamed ? [.thing(id: "th.\(number)")] : [], clock: clock)
            receiver.onPushToApp(id: "loop", bucket: "thermostats", object: "*") { _, context in
                var fields = cloud.fields
                let context = try manner.continuing(context, fields)
                fields = ["by": .string("th.\(number)")]
                context.stamp(&fields)
                handled.withLock { $0 += 1 }
                _ = cloud.patch(fields)
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

    @Test("ends a loop over stamped objects after eight hops", arguments: Manner.allCases)
    func loops(manner: Manner) async {
        for style in PayloadFixture.KeyStyle.allCases {
            #expect(await loop(manner, most: 100, style, every: .milliseconds(50)) == 9)
            #expect(await loop(manner, most: 100, style, every: .milliseconds(50), isNamed: false) == 9)
            #expect(await loop(manner, most: 100, style, every: .seconds(2), late: .seconds(25)) == 9)
        }
    }

    @Test("does not count the hops of messages that are an hour late")
    func slowLoop() async {
        for manner in Manner.allCases {
            #expect(await loop(manner, most: 19, every: .zero, late: .seconds(3600)) == 19)
        }
    }
}

/// An object on a server that keeps the fields which a write does not name.
final class PatchedObject: Sendable {
    private struct State {
        var fields: [String: DataValue] = ["target": .number("20")]
        var modifiedAt: Int64 = 0
    }

    private let state = Mutex(State())
    private let clock: ManualClock

    init(_ clock: ManualClock) { self.clock = clock }

    /// The fields as the REST API returns them.
    var fields: [String: DataValue] {
        state.withLock { state in state.fields.merging(["_modified": .number("\(state.modifiedAt)")]) { $1 } }
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
