import KiiPushTesting
import Synchronization
import Testing

@testable import KiiPush

/// Each way into a receiver does the same: stage by stage, by the lane of the built-in stages, by a loop, in batches.
@Suite(.timeLimit(.minutes(1)))
struct WaysInTests {
    /// How a payload comes in.
    enum Way: CaseIterable {
        /// With a stage of the user's own, so that each stage is asked for itself.
        case stages
        case lane
        case loop
        case batch
    }

    /// A stage that lets everything pass: it makes a chain another one than the built-in one.
    private struct PassingStage: Middleware {
        func admit(_ message: inout RoutedMessage) -> Verdict { .pass }
    }

    private struct HandlerFailed: Error {}

    /// A receiver with routes of every sort, and a clock that the traffic turns.
    private struct Bed {
        let clock = ManualClock()
        let log = EventLog()
        let receiver: PushReceiver

        init(_ way: Way, borrows: Bool) {
            let rate = LoopRate(messages: 6, window: .seconds(10))
            receiver = PushReceiver(app: "0123abcd", clock: clock) {
                Deduplicator(window: SeenWindow(age: .seconds(60), count: 40))
                LoopGuard(me: [.user(id: "U-me")], settings: LoopSettings(rate: rate))
                ScopeFilter(serving: [.app, .user("*")])
                if way == .stages { PassingStage() }
            }
            add(borrows)
        }

        private func add(_ borrows: Bool) {
            let log = log
            @Sendable func handle(_ route: String, _ text: String) throws {
                log.add("\(route): \(text)")
                if text.contains("bad") { throw HandlerFailed() }
            }
            receiver.onPushToApp("aged", bucket: "aged", options: RouteOptions(delivery: Self.aged)) { event, _ in
                try handle("aged", event.bucket.name)
            }
            receiver.onPushToApp("both", bucket: "both", options: .continue) { event, _ in
                try handle("both", event.bucket.name)
            }
            receiver.onPushToUser("named", topic: "named", options: RouteOptions(dedupe: .by(data: "id"))) { event, _ in
                try handle("named", event.topic.name)
            }
            let unlimited = RouteOptions(loop: RouteLoopPolicy(rate: .unlimited))
            receiver.onPushToApp("free", bucket: "free", options: unlimited) { event, _ in
                try handle("free", event.bucket.name)
            }
            if borrows {
                receiver.onLent("object", kind: .pushToApp, object: .any) { event in
                    try handle("object", "\(event.text(.bucket) ?? "-") \(event.text(.object) ?? "-")")
                }
                receiver.onLent("topic", kind: .pushToUser, topic: .any) { event async throws in
                    await Task.yield()
                    try handle("topic", event.text(.topic) ?? "-")
                }
            } else {
                receiver.onPushToApp("object", object: .any) { event, _ in
                    try handle("object", "\(event.bucket.name) \(event.object.id)")
                }
                receiver.onPushToUser("topic", topic: .any) { event, _ in try handle("topic", event.topic.name) }
            }
            receiver.onDirectPush("direct") { event, _ in try handle("direct", "\(event.data.keys)") }
        }

        private static var aged: DeliverySettings {
            var settings = DeliverySettings()
            settings.maxAge = .seconds(5)
            return settings
        }
    }

    /// A step of the traffic: time passes, something in the receiver changes, or payloads come.
    private enum Step {
        case wait(Duration)
        case kill(String)
        case reviveAll
        case addRoute(Int)
        case announce(KiiObject)
        case payloads([RawPayload])
    }

    private static func traffic(_ seed: UInt64) -> [Step] {
        var random = SeededGenerator(seed: seed)
        var when: Int64 = 1_700_000_000_000
        func payload() -> RawPayload {
            // Now and then the same as an earlier one.
            if Int.random(in: 0..<4, using: &random) > 0 { when += 1 }
            let style = PayloadFixture.KeyStyle.allCases.randomElement(using: &random) ?? .long
            let scope: KiiScope =
                [.app, .user(KiiUser(id: "U1")), .thing(KiiThing(id: "th.1"))].randomElement(using: &random) ?? .app
            let sender = ["U-me", "U-a", "U-b"].randomElement(using: &random)
            switch Int.random(in: 0..<12, using: &random) {
            case 0: return RawPayload(["", "[]", "{", #"{"a":1,"a":2}"#].randomElement(using: &random) ?? "")
            case 1: return RawPayload(#"{"n":\#(when % 7)}"#)
            case 2: return RawPayload(#"{"bucketID":"b","topic":"t","when":\#(when)}"#, transport: .mqtt)
            case 3, 4:
                let topic = ["named", "news", "bad"].randomElement(using: &random) ?? "news"
                return PayloadFixture.pushToUser(
                    topic: topic, scope: scope, sender: sender, sentAt: when,
                    data: [("id", .string("\(when / 2)")), ("text", .string("hä\u{1F600}"))]
                ).payload(style)
            default:
                let bucket = ["aged", "both", "free", "one", "one", "bad"].randomElement(using: &random) ?? "one"
                let app = Int.random(in: 0..<20, using: &random) == 0 ? "other" : "0123abcd"
                return PayloadFixture.pushToApp(
                    bucket: bucket, object: ["o-1", "o-2", "o \"3\"", nil].randomElement(using: &random) ?? nil,
                    scope: scope, sender: sender, sentAt: when, modifiedAt: when, app: app
                ).payload(style)
            }
        }
        return (0..<120).map { number in
            switch Int.random(in: 0..<24, using: &random) {
            case 0: .wait(.seconds(Int.random(in: 1...70, using: &random)))
            case 1: .kill(["object", "both", "topic"].randomElement(using: &random) ?? "object")
            case 2: .reviveAll
            case 3: .addRoute(number)
            case 4: .announce(KiiObject(bucket: KiiBucket(scope: .app, name: "one"), id: "o-1"))
            case 5...9: .wait(.milliseconds(Int.random(in: 1...900, using: &random)))
            default: .payloads((0..<Int.random(in: 1...5, using: &random)).map { _ in payload() })
            }
        }
    }

    /// What came of a run: how each payload ended for its transport, what the handlers saw, and the counts.
    private func run(_ seed: UInt64, _ way: Way, borrows: Bool) async -> (ends: [Disposition], rest: [String]) {
        let bed = Bed(way, borrows: borrows)
        var loop = ReceiveLoop(bed.receiver)
        var ends: [Disposition] = []
        for step in Self.traffic(seed) {
            switch step {
            case .wait(let duration):
                bed.clock.advance(by: duration)
                await bed.receiver.handleDue()
            case .kill(let route): bed.receiver.loopGuard?.kill(.route(route), for: .seconds(20))
            case .reviveAll:
                for target in bed.receiver.loopGuard?.killed ?? [] { bed.receiver.loopGuard?.revive(target) }
            case .addRoute(let number): bed.receiver.onPushToApp("late-\(number)", bucket: "nobody") { _, _ in }
            case .announce(let object): _ = bed.receiver.loopGuard?.announce(object)
            case .payloads(let payloads):
                switch way {
                case .stages, .lane:
                    for payload in payloads { ends.append(await bed.receiver.receive(payload).disposition) }
                case .loop: for payload in payloads { ends.append(await loop.receive(payload).disposition) }
                case .batch: ends += await loop.receive(contentsOf: payloads)
                }
            }
        }
        let held = bed.receiver.held.map { "held \($0.routes)" }
        let routes = bed.receiver.metrics.routes.map(\.description)
        return (ends, bed.log.events + held + bed.receiver.metrics.nonzero + routes)
    }

    @Test("the same traffic ends the same by every way in", arguments: 0..<40 as Range<UInt64>, [false, true])
    func same(seed: UInt64, borrows: Bool) async {
        let byStages = await run(seed, .stages, borrows: borrows)
        #expect(Set(byStages.ends).count > 1, "the traffic is not mixed")
        for way in Way.allCases {
            let other = await run(seed, way, borrows: borrows)
            #expect(other.ends == byStages.ends, "\(way)")
            #expect(other.rest == byStages.rest, "\(way)")
        }
    }

    @Test("only the built-in chain has a lane")
    func lane() {
        #expect(Bed(.lane, borrows: false).receiver.chain.lane != nil)
        #expect(Bed(.stages, borrows: false).receiver.chain.lane == nil)
        #expect(PushReceiver().chain.lane != nil)
        let unlike = PushReceiver {
            Deduplicator(store: InMemorySeenStore(), secret: .published)
            LoopGuard()
            ScopeFilter()
        }
        #expect(unlike.chain.lane == nil, "its keys have another secret than the guard's")
    }

    @Test("traces are the same for all ways in, and are made from the moment that somebody listens")
    func traces() async {
        let bed = Bed(.loop, borrows: true)
        var loop = ReceiveLoop(bed.receiver)
        let log = TraceLog()
        let first = PayloadFixture.pushToApp(bucket: "one", sentAt: 1, modifiedAt: 1).payload(.long)
        #expect(await "\(loop.receive(first))" == "handled")
        let token = bed.receiver.onTrace { log.add($0) }
        #expect(await "\(loop.receive(first))" == "duplicate (done)")
        let second = PayloadFixture.pushToApp(bucket: "one", sentAt: 2, modifiedAt: 2).payload(.long)
        #expect(await "\(loop.receive(second))" == "handled")
        token.remove()
        #expect(await "\(loop.receive(second))" == "duplicate (done)")
        #expect(log.traces.map { "\($0.outcome)" } == ["duplicate (done)", "handled"])
        #expect(log.traces.last?.handlers == ["object"])
    }
}
