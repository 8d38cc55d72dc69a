import KiiPushTesting
import Testing

@testable import KiiPush

/// Each row of the table of outcomes, from payload to store, transport, metrics and trace.
struct ReceiverOutcomeTests {
    /// One way for a message to end, and everything that must follow from it.
    struct Row: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var payload = PayloadFixture.pushToApp().payload(.long)
        /// How often the payload is sent; the last time counts.
        var times = 1
        var stage: @Sendable () throws -> Verdict = { .pass }
        var kill: KillTarget?
        var handler: @Sendable () throws -> Void = {}
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
    private static let admitted = routed + ["test: pass", "LoopGuard: pass", "ScopeRouter: pass"]

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
            testDescription: "refused for its app", payload: PayloadFixture.pushToApp(app: "ffff0000").payload(.long),
            name: "refused", reason: "app", store: ["fresh", "release"], counter: "refused app",
            trace: routed + ["test: pass", "LoopGuard: pass", "ScopeRouter: drop: refused (app)"]),
        Row(
            testDescription: "refused for its scope",
            payload: PayloadFixture.pushToApp(scope: .user(KiiUser(id: "U-2"))).payload(.long), name: "refused",
            reason: "scope", store: ["fresh", "release"], counter: "refused scope",
            trace: routed + ["test: pass", "LoopGuard: pass", "ScopeRouter: drop: refused (scope)"]),
        Row(
            testDescription: "refused by a stage of one's own", stage: { .refuse("quiet hours") }, name: "refused",
            reason: "quiet hours", store: ["fresh", "release"], counter: "refused other",
            trace: routed + ["test: drop: refused (quiet hours)"]),
        Row(
            testDescription: "unrouted", payload: PayloadFixture.pushToApp(bucket: "other").payload(.long),
            name: "unrouted", reason: "noRoute", store: ["fresh", "release"], counter: "unrouted noRoute",
            trace: [decoded, "route: none", "Deduplicator: pass", "test: pass", "LoopGuard: pass", "ScopeRouter: pass"]),
        Row(
            testDescription: "unrouted since it is ambiguous", payload: ambiguous, name: "unrouted",
            reason: "ambiguous", store: ["fresh", "release"], counter: "unrouted ambiguous",
            trace: [
                "decode: Push to App, ambiguous", "route: none", "Deduplicator: pass", "test: pass", "LoopGuard: pass",
                "ScopeRouter: pass",
            ]),
        Row(
            testDescription: "failed in its handler", handler: { throw TestError() }, name: "failed",
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

    private static var ambiguous: RawPayload {
        var fixture = PayloadFixture.pushToApp()
        fixture.fields[.topic] = "news"
        return fixture.payload(.long)
    }

    @Test("a message that ends so is settled, reported, counted and traced so", arguments: rows)
    func row(row: Row) async throws {
        let clock = ManualClock()
        let store = SpyStore()
        let loopGuard = LoopGuard(me: [.thing(id: "th.me")], clock: clock)
        if let target = row.kill { loopGuard.kill(target, for: .seconds(60)) }
        let receiver = PushReceiver(app: "0123abcd", clock: clock) {
            Deduplicator(store: store, secret: .published, clock: clock)
            Probe("test", EventLog(), answer: row.stage)
            loopGuard
            ScopeRouter(serving: [.app, .user("U-1")])
        }
        receiver.onPushToApp("settings", bucket: "settings") { _, _ in try row.handler() }
        let traces = TraceLog()
        receiver.onTrace { traces.add($0) }

        for _ in 1..<row.times { _ = await receiver.receive(row.payload) }
        let before = store.log.events.count
        let outcome = await receiver.receive(row.payload)

        #expect(outcome.name == row.name)
        #expect(outcome.reason == row.reason)
        #expect(outcome.disposition == row.disposition)
        #expect(Array(store.log.events.dropFirst(before)) == row.store)
        #expect(receiver.metrics.nonzero.contains("\(row.counter): 1"), "\(receiver.metrics.nonzero)")
        #expect(receiver.metrics.received == row.times)
        let trace = try #require(traces.traces.last)
        #expect(trace.stages.map { "\($0.name): \($0.verdict)" } == row.trace)
        #expect("\(trace.outcome)" == "\(outcome)")
        #expect(trace.messageID == UInt64(row.times))
    }
}
