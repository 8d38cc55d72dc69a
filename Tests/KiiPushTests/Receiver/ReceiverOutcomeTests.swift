import KiiPushTesting
import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

/// Each row of the table of outcomes, from payload to store, transport, metrics and trace.
@Suite(.timeLimit(.minutes(1)))
struct ReceiverOutcomeTests {
    /// One way for a message to end, and everything that must follow from it.
    struct Row: Sendable, CustomTestStringConvertible {
        var testDescription: String { "\(ends) \(what)" }
        let ends: String
        var what = ""
        var payload = PayloadFixture.pushToApp().payload(.long)
        /// How often the payload is sent; the last time counts.
        var times = 1
        var middleware: @Sendable () throws -> Verdict = { .pass }
        var kill: KillTarget?
        var handler: @Sendable (HandlerContext) throws -> Void = { _ in }
        /// Sent before it, and not counted in `times`.
        var before: [RawPayload] = []
        var ownBucket = RouteOptions.OwnBucket.warn
        /// A write that was announced before.
        var announced: KiiObject?
        var disposition = Disposition.accept
        /// What the store is asked and told of the message.
        let store: String
        /// The label of its counter, if not its end.
        var counter: String?
        /// The stages of the trace.
        let trace: [String]

        /// The layer of the loop guard that ends it so, or lets it wait.
        var layer: LoopLayer? {
            ends == "paced" ? .pace : LoopLayer.allCases.first { ends == "looped (\($0.rawValue))" }
        }
    }

    private static let decoded = "decode: Push to App, certain"
    private static let routed = [decoded, "route: settings", "Deduplicator: pass"]
    private static let admitted = routed + ["test: pass", "LoopGuard: pass", "ScopeFilter: pass"]
    static let rows: [Row] = [
        Row(ends: "handled", store: "fresh commit", trace: admitted + ["handle settings: handled"]),
        Row(
            ends: "duplicate (done)", times: 2, store: "done",
            trace: routed.dropLast() + ["Deduplicator: drop: duplicate (done)"]),
        Row(
            ends: "looped (identity)", payload: PayloadFixture.pushToApp(sender: "th.me").payload(.long),
            store: "fresh commit", trace: routed + ["test: pass", "LoopGuard: drop: looped (identity)"]),
        Row(
            ends: "looped (killSwitch)", what: "of everything", kill: .everything, store: "fresh commit",
            trace: routed + ["test: pass", "LoopGuard: drop: looped (killSwitch)"]),
        Row(
            ends: "looped (killSwitch)", what: "of the bucket",
            kill: .bucket(KiiURI(owner: .app, resource: .bucket(name: "settings", isEncrypted: false))),
            store: "fresh commit", trace: routed + ["test: pass", "LoopGuard: drop: looped (killSwitch)"]),
        Row(
            ends: "looped (killSwitch)", what: "of the only route", kill: .route("settings"), store: "fresh commit",
            trace: admitted),
        Row(
            ends: "looped (echo)", payload: PayloadFixture.pushToApp(sender: nil).payload(.long), announced: object,
            store: "fresh commit", trace: routed + ["test: pass", "LoopGuard: drop: looped (echo)"]),
        Row(
            ends: "looped (lineage)",
            payload: PayloadFixture.pushToUser(data: [(Lineage.key, .string("1;9;x"))]).payload(.long),
            store: "fresh commit",
            trace: [
                "decode: Push to User, certain", "route: none", "Deduplicator: pass", "test: pass",
                "LoopGuard: drop: looped (lineage)",
            ]),
        Row(
            ends: "looped (ownBucket)", handler: { _ = try $0.willWrite(object) }, ownBucket: .refuse,
            store: "fresh commit", trace: admitted + ["write: risk: sameBucket", "handle settings: threw LoopRefusal"]),
        Row(
            ends: "paced", before: earlier, disposition: .retryLater, store: "fresh release",
            trace: routed + ["test: pass", "LoopGuard: later"]),
        Row(
            ends: "refused (app)", payload: PayloadFixture.pushToApp(app: "ffff0000").payload(.long),
            store: "fresh release",
            trace: routed + ["test: pass", "LoopGuard: pass", "ScopeFilter: drop: refused (app)"]),
        Row(
            ends: "refused (scope)",
            payload: PayloadFixture.pushToApp(scope: .user(KiiUser(id: "U-2"))).payload(.long), store: "fresh release",
            trace: routed + ["test: pass", "LoopGuard: pass", "ScopeFilter: drop: refused (scope)"]),
        Row(
            ends: "refused (quiet hours)", middleware: { .refuse("quiet hours") }, store: "fresh release",
            counter: "refused other", trace: routed + ["test: drop: refused (quiet hours)"]),
        Row(
            ends: "unrouted (noRoute)", payload: PayloadFixture.pushToApp(bucket: "other").payload(.long),
            store: "fresh release",
            trace: [decoded, "route: none", "Deduplicator: pass", "test: pass", "LoopGuard: pass", "ScopeFilter: pass"]),
        Row(
            ends: "unrouted (ambiguous)", payload: ambiguous, store: "fresh release",
            trace: [
                "decode: Push to App, ambiguous", "route: none", "Deduplicator: pass", "test: pass", "LoopGuard: pass",
                "ScopeFilter: pass",
            ]),
        Row(
            ends: "failed (settings)", handler: { _ in throw TestError() }, disposition: .retryLater,
            store: "fresh release", counter: "failed handler", trace: admitted + ["handle settings: threw TestError"]),
        Row(
            ends: "failed (test)", middleware: { throw TestError() }, disposition: .retryLater, store: "fresh release",
            counter: "failed stage", trace: routed + ["test: threw TestError"]),
        Row(
            ends: "undecodable (notAnObject)", payload: RawPayload("[]", transport: .mqtt), disposition: .reject,
            store: "", trace: ["decode: notAnObject at byte 0: a push is a JSON object"]),
    ]

    private static let object = KiiObject(bucket: KiiBucket(scope: .app, name: "settings"), id: "o-1")
    private static let earlier = (1...20).map { PayloadFixture.pushToApp(sentAt: $0, modifiedAt: nil).payload(.long) }

    private static var ambiguous: RawPayload {
        var fixture = PayloadFixture.pushToApp()
        fixture.fields[.topic] = "news"
        return fixture.payload(.long)
    }

    /// A receiver that is asked what a row says, and what is seen of it.
    private struct Bench {
        let receiver: PushReceiver
        let loopGuard: LoopGuard
        let store = SpyStore()
        let traces = TraceLog()

        init(_ row: Row, _ settings: LoopSettings = .standard) {
            let clock = ManualClock()
            let loopGuard = LoopGuard(me: [.thing(id: "th.me")], settings: settings, clock: clock)
            self.loopGuard = loopGuard
            if let target = row.kill { loopGuard.kill(target, for: .seconds(60)) }
            let store = store
            receiver = PushReceiver(app: "0123abcd", clock: clock) {
                Deduplicator(store: store, secret: .published, clock: clock)
                Probe("test", EventLog(), answer: row.middleware)
                loopGuard
                ScopeFilter(serving: [.app, .user("U-1")])
            }
            let options = RouteOptions(pace: .every(.seconds(6)), ownBucket: row.ownBucket)
            receiver.onPushToApp(id: "settings", bucket: "settings", options: options) { _, context in
                try row.handler(context)
            }
            receiver.onTrace(traces.add)
        }

        /// Sends what comes before the row's message.
        func prepare(_ row: Row) async {
            for payload in row.before { _ = await receiver.receive(payload) }
            if let object = row.announced { _ = loopGuard.announce(object) }
            for _ in 1..<row.times { _ = await receiver.receive(row.payload) }
        }
    }

    @Test("each outcome is settled, reported, counted and traced", arguments: rows)
    func row(row: Row) async throws {
        let bench = Bench(row)
        await bench.prepare(row)
        let before = bench.store.log.events.count
        let outcome = await bench.receiver.receive(row.payload)

        let metrics = bench.receiver.metrics
        let label = row.ends.filter { !"()".contains($0) }
        #expect("\(outcome)" == row.ends && outcome.disposition == row.disposition)
        #expect(bench.store.log.events.dropFirst(before).joined(separator: " ") == row.store)
        #expect(metrics.nonzero.contains("\(row.counter ?? label): 1"), "\(metrics.nonzero)")
        // What is to come again has not ended.
        #expect(metrics.received == row.before.count + row.times - (row.ends == "paced" ? 1 : 0))
        let trace = try #require(bench.traces.traces.last)
        #expect(trace.stages.map { "\($0.name): \($0.verdict)" } == row.trace)
        #expect("\(trace.outcome)" == "\(outcome)")
        #expect(trace.messageID == UInt64(row.before.count + row.times))
    }

    @Test("a layer of the loop guard that is switched off neither drops a message nor lets it wait", arguments: rows)
    func switchedOff(row: Row) async {
        guard let layer = row.layer else { return }
        let bench = Bench(row, .standard.without(layer))
        await bench.prepare(row)
        let outcome = await bench.receiver.receive(row.payload)
        #expect(!["looped", "paced"].contains(outcome.name), "\(outcome)")
        #expect(Set(Self.rows.compactMap(\.layer)) == Set(LoopLayer.allCases))
    }
}
