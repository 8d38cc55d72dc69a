import KiiPushTesting
import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

/// Each row of the table of outcomes, from payload to store, transport, metrics and trace.
@Suite(.timeLimit(.minutes(1)))
struct ReceiverOutcomeTests {
    /// One way for a message to end, and everything that must follow from it.
    struct Row: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var payload = PayloadFixture.pushToApp().payload(.long)
        /// How often the payload is sent; the last time counts.
        var times = 1
        var stage: @Sendable () throws -> Verdict = { .pass }
        var kill: KillTarget?
        var handler: @Sendable (HandlerContext) throws -> Void = { _ in }
        /// Sent before it, and not counted in `times`.
        var before: [RawPayload] = []
        var ownBucket = RouteOptions.OwnBucket.warn
        /// A write that was announced before.
        var announced: KiiObject?
        let name: String
        var reason: String?
        var disposition = Disposition.accept
        /// What the store is asked and told of the message.
        let store: [String]
        /// The label of its counter.
        let counter: String
        /// The stages of the trace.
        let trace: [String]
    }

    private static let decoded = "decode: Push to App, certain"
    private static let routed = [decoded, "route: settings", "Deduplicator: pass"]
    private static let admitted = routed + ["test: pass", "LoopGuard: pass", "ScopeFilter: pass"]
    static let rows: [Row] = [
        Row(
            testDescription: "handled", name: "handled", store: ["fresh", "commit"], counter: "handled",
            trace: admitted + ["handle settings: handled"]),
        Row(
            testDescription: "duplicate", times: 2, name: "duplicate", reason: "done", store: ["done"],
            counter: "duplicate done", trace: routed.dropLast() + ["Deduplicator: drop: duplicate (done)"]),
        Row(
            testDescription: "looped by identity", payload: PayloadFixture.pushToApp(sender: "th.me").payload(.long),
            name: "looped", reason: "identity", store: ["fresh", "commit"], counter: "looped identity",
            trace: routed + ["test: pass", "LoopGuard: drop: looped (identity)"]),
        Row(
            testDescription: "looped by a kill of everything", kill: .everything, name: "looped", reason: "killSwitch",
            store: ["fresh", "commit"], counter: "looped killSwitch",
            trace: routed + ["test: pass", "LoopGuard: drop: looped (killSwitch)"]),
        Row(
            testDescription: "looped by a kill of the bucket",
            kill: .bucket(KiiURI(owner: .app, resource: .bucket(name: "settings", isEncrypted: false))),
            name: "looped", reason: "killSwitch", store: ["fresh", "commit"], counter: "looped killSwitch",
            trace: routed + ["test: pass", "LoopGuard: drop: looped (killSwitch)"]),
        Row(
            testDescription: "looped by a kill of the only route", kill: .route("settings"), name: "looped",
            reason: "killSwitch", store: ["fresh", "commit"], counter: "looped killSwitch", trace: admitted),
        Row(
            testDescription: "looped by echo", payload: PayloadFixture.pushToApp(sender: nil).payload(.long),
            announced: object, name: "looped", reason: "echo", store: ["fresh", "commit"], counter: "looped echo",
            trace: routed + ["test: pass", "LoopGuard: drop: looped (echo)"]),
        Row(
            testDescription: "looped by lineage",
            payload: PayloadFixture.pushToUser(data: [(Lineage.key, .string("1;9;x"))]).payload(.long), name: "looped",
            reason: "lineage", store: ["fresh", "commit"], counter: "looped lineage",
            trace: [
                "decode: Push to User, certain", "route: none", "Deduplicator: pass", "test: pass",
                "LoopGuard: drop: looped (lineage)",
            ]),
        Row(
            testDescription: "looped by a refused write", handler: { _ = try $0.willWrite(object) }, ownBucket: .refuse,
            name: "looped", reason: "ownBucket", store: ["fresh", "commit"], counter: "looped ownBucket",
            trace: admitted + ["write: risk: sameBucket", "handle settings: threw LoopRefusal"]),
        Row(
            testDescription: "paced", before: earlier, name: "paced", disposition: .retryLater,
            store: ["fresh", "release"], counter: "paced", trace: routed + ["test: pass", "LoopGuard: later"]),
        Row(
            testDescription: "refused for its app", payload: PayloadFixture.pushToApp(app: "ffff0000").payload(.long),
            name: "refused", reason: "app", store: ["fresh", "release"], counter: "refused app",
            trace: routed + ["test: pass", "LoopGuard: pass", "ScopeFilter: drop: refused (app)"]),
        Row(
            testDescription: "refused for its scope",
            payload: PayloadFixture.pushToApp(scope: .user(KiiUser(id: "U-2"))).payload(.long), name: "refused",
            reason: "scope", store: ["fresh", "release"], counter: "refused scope",
            trace: routed + ["test: pass", "LoopGuard: pass", "ScopeFilter: drop: refused (scope)"]),
        Row(
            testDescription: "refused by a stage of one's own", stage: { .refuse("quiet hours") }, name: "refused",
            reason: "quiet hours", store: ["fresh", "release"], counter: "refused other",
            trace: routed + ["test: drop: refused (quiet hours)"]),
        Row(
            testDescription: "unrouted", payload: PayloadFixture.pushToApp(bucket: "other").payload(.long),
            name: "unrouted", reason: "noRoute", store: ["fresh", "release"], counter: "unrouted noRoute",
            trace: [decoded, "route: none", "Deduplicator: pass", "test: pass", "LoopGuard: pass", "ScopeFilter: pass"]),
        Row(
            testDescription: "unrouted since it is ambiguous", payload: ambiguous, name: "unrouted",
            reason: "ambiguous", store: ["fresh", "release"], counter: "unrouted ambiguous",
            trace: [
                "decode: Push to App, ambiguous", "route: none", "Deduplicator: pass", "test: pass", "LoopGuard: pass",
                "ScopeFilter: pass",
            ]),
        Row(
            testDescription: "failed in its handler", handler: { _ in throw TestError() }, name: "failed",
            reason: "settings", disposition: .retryLater, store: ["fresh", "release"], counter: "failed handler",
            trace: admitted + ["handle settings: threw TestError"]),
        Row(
            testDescription: "failed in a stage", stage: { throw TestError() }, name: "failed", reason: "test",
            disposition: .retryLater, store: ["fresh", "release"], counter: "failed stage",
            trace: routed + ["test: threw TestError"]),
        Row(
            testDescription: "undecodable", payload: RawPayload("[]", transport: .mqtt), name: "undecodable",
            reason: "notAnObject", disposition: .reject, store: [], counter: "undecodable notAnObject",
            trace: ["decode: notAnObject at byte 0: a push is a JSON object"]),
    ]

    private static let object = KiiObject(bucket: KiiBucket(scope: .app, name: "settings"), id: "o-1")
    private static let earlier = (1...20).map { PayloadFixture.pushToApp(sentAt: $0, modifiedAt: nil).payload(.long) }

    private static var ambiguous: RawPayload {
        var fixture = PayloadFixture.pushToApp()
        fixture.fields[.topic] = "news"
        return fixture.payload(.long)
    }

    @Test("each outcome is settled, reported, counted and traced", arguments: rows)
    func row(row: Row) async throws {
        let clock = ManualClock()
        let store = SpyStore()
        let loopGuard = LoopGuard(me: [.thing(id: "th.me")], clock: clock)
        if let target = row.kill { loopGuard.kill(target, for: .seconds(60)) }
        let receiver = PushReceiver(app: "0123abcd", clock: clock) {
            Deduplicator(store: store, secret: .published, clock: clock)
            Probe("test", EventLog(), answer: row.stage)
            loopGuard
            ScopeFilter(serving: [.app, .user("U-1")])
        }
        receiver.onPushToApp(
            "settings", bucket: "settings", options: RouteOptions(pace: .every(.seconds(6)), ownBucket: row.ownBucket)
        ) { _, context in
            try row.handler(context)
        }
        let traces = TraceLog()
        receiver.onTrace { traces.add($0) }

        for payload in row.before { _ = await receiver.receive(payload) }
        if let object = row.announced { _ = loopGuard.announce(object) }
        for _ in 1..<row.times { _ = await receiver.receive(row.payload) }
        let before = store.log.events.count
        let outcome = await receiver.receive(row.payload)

        #expect(outcome.name == row.name)
        #expect(outcome.reason == row.reason)
        #expect(outcome.disposition == row.disposition)
        #expect(Array(store.log.events.dropFirst(before)) == row.store)
        #expect(receiver.metrics.nonzero.contains("\(row.counter): 1"), "\(receiver.metrics.nonzero)")
        // What is to come again has not ended.
        #expect(receiver.metrics.received == row.before.count + row.times - (row.name == "paced" ? 1 : 0))
        let trace = try #require(traces.traces.last)
        #expect(trace.stages.map { "\($0.name): \($0.verdict)" } == row.trace)
        #expect("\(trace.outcome)" == "\(outcome)")
        #expect(trace.messageID == UInt64(row.before.count + row.times))
    }
}
