import KiiPushTesting
import Synchronization
import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

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
        "handles any number of changes that leave the last stamp in the object",
        arguments: [1, 1000, 5000, 60_000, 3_600_000], Rounder.Manner.allCases)
    func patched(milliseconds: Int, manner: Rounder.Manner) async {
        for style in PayloadFixture.KeyStyle.allCases {
            let cloud = PatchedObject(clock)
            let device = Rounder(1, cloud, clock, manner)
            device.receiver.loopGuard?.settings = LoopSettings().without(.pace)
            for number in 0..<100 {
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

    /// A way to write what a device is called for: each message is answered, however many wait.
    enum Answer: String, CaseIterable {
        /// Announces the write and reports it.
        case reported
        /// Does neither: the device's identity is enough.
        case silent
    }

    @Test("handles a backlog of changes while writing for each", arguments: Answer.allCases)
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

    @Test("handles a stream of changes that keep coming while it writes", arguments: Answer.allCases)
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
        takes duration: Duration, wrote: @escaping @Sendable () -> Void = {}
    ) -> PushReceiver {
        let receiver = PushReceiver(me: [.thing(id: "th.\(number)")], loop: LoopSettings().without(.pace), clock: clock)
        receiver.onPushToApp("answer", bucket: "thermostats", object: "*") { [clock] event, context in
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
        _ manner: Rounder.Manner, most: Int, _ style: PayloadFixture.KeyStyle = .long, every pause: Duration,
        late: Duration = .zero, isNamed: Bool = true
    ) async -> Int {
        let cloud = PatchedObject(clock)
        let handled = Mutex(0)
        let receivers = (0..<2).map { number in
            let receiver = PushReceiver(me: isNamed ? [.thing(id: "th.\(number)")] : [], clock: clock)
            receiver.onPushToApp("loop", bucket: "thermostats", object: "*") { _, context in
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

    @Test("ends a loop over stamped objects after eight hops", arguments: Rounder.Manner.allCases)
    func loops(manner: Rounder.Manner) async {
        for style in PayloadFixture.KeyStyle.allCases {
            #expect(await loop(manner, most: 100, style, every: .milliseconds(50)) == 9)
            #expect(await loop(manner, most: 100, style, every: .milliseconds(50), isNamed: false) == 9)
            #expect(await loop(manner, most: 100, style, every: .seconds(2), late: .seconds(25)) == 9)
        }
    }

    @Test("does not count the hops of messages that are an hour late")
    func slowLoop() async {
        for manner in Rounder.Manner.allCases {
            #expect(await loop(manner, most: 19, every: .zero, late: .seconds(3600)) == 19)
        }
    }
}
