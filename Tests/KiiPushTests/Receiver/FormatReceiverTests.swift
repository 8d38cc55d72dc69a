import KiiPushContracts
import KiiPushDelivery
import KiiPushRules
import KiiPushTesting
import Synchronization
import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

/// Pushes of formats on their way through a receiver.
@Suite(.timeLimit(.minutes(1)))
struct FormatReceiverTests {
    private let clock = ManualClock(wallNow: 1_760_000_000_000)
    private let log = EventLog()

    private func receiver(_ formats: PayloadFormats = .shipped.adding(TestLines())) -> PushReceiver {
        PushReceiver(app: "0123abcd", formats: formats, clock: clock) {
            Deduplicator(clock: clock)
            LoopGuard(clock: clock)
        }
    }

    private static func event(_ id: String = "1", type: String = "com.example.door", more: String = "") -> RawPayload {
        RawPayload(#"{"specversion":"1.0","id":"\#(id)","source":"/a","type":"\#(type)"\#(more)}"#, transport: .mqtt)
    }

    @Test("a typed handler is called for its format and type, and for nothing else")
    func typed() async {
        let receiver = receiver()
        receiver.onDirectPush(id: "doors", format: "cloudevents", type: "com.example.*") { event, _ in
            log.add("doors \(event.type ?? "")")
        }
        receiver.onDirectPush(id: "others", format: ["cloudevents", "lines"]) { event, _ in
            log.add("others \(event.format)")
        }
        receiver.onDirectPush(id: "rest") { message, _ in log.add("rest") }
        for payload in [
            Self.event(), Self.event("2", type: "org.example"), RawPayload("id=1\nfrom=a"),
            RawPayload(#"{"id":"a","time":1760000000,"event":"message","topic":"t","message":"m"}"#),
            RawPayload(#"{"x":1}"#),
            PayloadFixture.pushToUser(data: [("type", .string("com.example.door"))]).payload(.strings),
        ] { _ = await receiver.receive(payload) }
        #expect(log.events == ["doors com.example.door", "others cloudevents", "others lines", "rest", "rest"])
        let formats = receiver.metrics.formats
        #expect(formats == ["cloudevents": 2, "lines": 1, "ntfy": 1, "quickblox": 0])
    }

    @Test("the same id of one source is the same message for as long as the window, over every transport")
    func duplicates() async {
        let receiver = receiver()
        receiver.onDirectPush(format: "*", options: RouteOptions(pace: .unlimited)) { _, _ in }
        let first = Self.event(more: #","data":{"a":1}"#)
        var other = Self.event(more: #","data":{"a":2}"#)
        other.transport = "http"
        #expect(await receiver.receive(first).name == "handled")
        clock.advance(by: .seconds(500))
        #expect(await receiver.receive(other).name == "duplicate")
        #expect(await receiver.receive(Self.event("2")).name == "handled")
        #expect(await receiver.receive(RawPayload("id=1\nfrom=a")).name == "handled")
        #expect(await receiver.receive(RawPayload("id=1\nfrom=b")).name == "handled")
        #expect(await receiver.receive(RawPayload("id=1\nfrom=b\nx=2")).name == "duplicate")
    }

    @Test("a format's message without an id is told apart by all that the format reads")
    func withoutID() throws {
        func key(_ push: ForeignPush) throws -> DedupeKeys {
            let format = ScriptedFormat(transport: "radio", push: { () throws(DecodeError) in push })
            return try PushMessage(RawPayload(#"{"x":1}"#, transport: "radio"), formats: PayloadFormats([format]))
                .dedupeKeys(secret: .published)
        }
        let pushes = [
            ForeignPush(), ForeignPush(source: "s"), ForeignPush(type: "s"), ForeignPush(source: "s", subject: "x"),
            ForeignPush(source: "s", sentAt: 1), ForeignPush(id: "s"), ForeignPush(source: "s", type: "t"),
        ]
        let keys = try pushes.map(key)
        #expect(Set(keys.map(\.primary)).count == pushes.count)
        #expect(keys.map(\.strength) == pushes.map { $0.id == nil ? .weak : .strong })
    }

    @Test("a payload that two formats claim is unrouted, unless a route asks for it")
    func ambiguous() async {
        let formats = PayloadFormats([ScriptedFormat(name: "one"), ScriptedFormat(name: "two")])
        let payload = RawPayload(#"{"scripted":1}"#)
        let receiver = receiver(formats)
        receiver.onDirectPush(format: "*") { _, _ in }
        #expect(await receiver.receive(payload) == .unrouted(.ambiguous))
        receiver.onDirectPush(id: "asks", format: "one", certainty: [.ambiguous]) { _, _ in }
        #expect(await receiver.receive(payload).name == "handled")
    }

    @Test("a format that throws harms no other message, and its error is an outcome with its name")
    func throwing() async {
        let receiver = receiver()
        receiver.onAny(options: RouteOptions(pace: .unlimited)) { _, _ in }
        let traces = TraceLog()
        receiver.onTrace { traces.add($0) }
        #expect(await receiver.receive(RawPayload("id=1\nbroken")).name == "undecodable")
        #expect(await receiver.receive(RawPayload("id=1\nfrom=a")).name == "handled")
        #expect(traces.traces[0].stages[0].verdict == "badEncoding at byte 3: lines: expected KEY=VALUE")
        #expect(traces.traces[1].stages[0].verdict == "Direct Push, certain, lines")
    }

    // MARK: Age

    @Test(
        "an expired message is handled by no route, and only the wall clock decides",
        arguments: [(1_760_000_000_001, "handled"), (1_760_000_000_000, "handled"), (1_759_999_999_999, "expired")])
    func expiry(until: Int64, outcome: String) async {
        let receiver = receiver()
        receiver.onDirectPush(id: "r", format: "lines") { _, _ in }
        let traces = TraceLog()
        receiver.onTrace { traces.add($0) }
        let payload = RawPayload("id=1\nuntil=\(until)")
        #expect(await receiver.receive(payload).name == outcome)
        if outcome == "expired" {
            #expect(traces.traces[0].expired == ["r"])
            #expect(traces.traces[0].stages.last?.verdict == "expired: its own time has passed")
        }
        clock.wallNow = nil
        #expect(await receiver.receive(RawPayload("id=2\nuntil=\(until)")).name == "handled")
    }

    // MARK: Order, pace, dead letters

    @Test("messages of one source and subject share an ordering key and a pace")
    func order() throws {
        func keys(_ text: String) throws -> (lane: DedupeKey?, group: DedupeKey?, pace: UInt64) {
            let message = try PushMessage(RawPayload(text), formats: PayloadFormats([TestLines()]))
            return (
                ResourceKey(ofItsObject: message)?.digest, ResourceKey(groupOf: message)?.digest,
                KeyedDigest(conversationOf: message, .published).half
            )
        }
        let one = try keys("id=1\nfrom=a\nroom=x\nkind=k")
        let same = try keys("id=2\nfrom=a\nroom=x\nkind=other")
        #expect(one == same && one.lane != nil && one.group != nil)
        for text in ["id=3\nfrom=a\nroom=y", "id=4\nfrom=b\nroom=x"] {
            let other = try keys(text)
            #expect(other.lane != one.lane && other.pace != one.pace)
        }
        let kind = try keys("id=1\nkind=k")
        let other = try keys("id=1\nkind=l")
        #expect(kind.lane == nil && kind.pace != other.pace)
    }

    @Test("a dead letter keeps the bytes, and is decoded and handled again with the same formats")
    func replay() async throws {
        let letters = InMemoryDeadLetterStore()
        let receiver = PushReceiver(formats: PayloadFormats([TestLines()]), clock: clock, deadLetters: letters)
        receiver.onDirectPush(id: "r", format: "lines") { push, _ in log.add(push.id ?? "") }
        let payload = RawPayload("id=1\nuntil=1760000000001")
        _ = try letters.add(DeadLetter(payload: payload, reason: .failed, routes: ["r"], arrivedAt: clock.now))
        clock.wallNow = 1_760_000_100_000
        #expect(await receiver.receive(payload).name == "expired")
        let letter = try #require(letters.letters().first)
        #expect(letter.payload.bytes == payload.bytes)
        #expect(await receiver.replay(letter).name == "handled" && log.events == ["1"])
    }

    // MARK: Rules

    private static let file = """
        {"version":1,"rules":[
            {"id":"doors","when":{"format":"cloudevents","type":"com.example.*"},"then":{"handler":"door"},
             "delivery":{"maxAge":"1h"}},
            {"id":"lines","when":{"format":["lines","ntfy"],"data":{"x":{"exists":false}}},"then":{"handler":"line"}}
        ],"tests":[
            {"name":"a door","steps":[
                {"payload":{"specversion":"1.0","id":"1","source":"/a","type":"com.example.door"},
                 "expect":{"outcome":"handled","rules":["doors"],"kind":"directPush","certainty":"certain"}},
                {"at":"5m","payload":{"specversion":"1.0","id":"1","source":"/a","type":"com.example.door","data":1},
                 "expect":{"outcome":"duplicate"}},
                {"at":"6m","payload":{"specversion":"1.0","id":"2","source":"/a","type":"org.example.door"},
                 "expect":{"outcome":"unrouted"}}
            ]},
            {"name":"lines","steps":[
                {"raw":"id=1\\nfrom=a","expect":{"outcome":"handled","rules":["lines"]}},
                {"at":"1m","raw":"id=1\\nfrom=a","expect":{"outcome":"duplicate"}},
                {"at":"1m","raw":"id=2\\nx=1","expect":{"outcome":"unrouted"}},
                {"at":"1m","raw":"id=3\\nx","expect":{"outcome":"undecodable","code":"badEncoding"}}
            ]}
        ]}
        """

    @Test(
        "rules match formats and types, in the tests of their file, too",
        arguments: try RuleSuite(RoutingRules(file), formats: .shipped.adding(TestLines())))
    func rules(_ test: RuleCase) async throws { try await test.run() }

    @Test("an explanation says which format and type a message has, or why none")
    func explanation() throws {
        let rule = try RoutingRules(Self.file).rules[0]
        func explained(_ payload: RawPayload) throws -> [String] {
            rule.explain(try PushMessage(payload)).map {
                "\($0.name) \($0.expected) \($0.actual ?? "none") \($0.holds)\($0.reason.map { ": \($0)" } ?? "")"
            }
        }
        #expect(
            try explained(Self.event(type: "org.example")) == [
                #"format "cloudevents" "cloudevents" true"#, #"type "com.example.*" "org.example" false"#,
                #"certainty ["certain","likely"] "certain" true"#,
            ])
        #expect(
            try explained(RawPayload("{}")).prefix(2) == [
                #"format "cloudevents" none false: no format has claimed the payload"#,
                #"type "com.example.*" none false: no format has claimed the payload"#,
            ])
    }

    @Test("lint finds a rule that no push of a format can match")
    func lint() throws {
        func findings(_ when: String) throws -> [String] {
            try RoutingRules(#"{"version":1,"rules":[{"id":"r","when":\#(when),"then":{"handler":"h"}}]}"#).lint()
                .filter { $0.code == .neverMatches }.map(\.what)
        }
        for when in [
            #"{"kind":"pushToUser","format":"ntfy"}"#, #"{"bucket":"b","type":"t"}"#, #"{"topic":"t","format":"ntfy"}"#,
        ] { #expect(try findings(when).count == 1, "\(when)") }
        #expect(try findings(#"{"format":"ntfy","type":"message"}"#).isEmpty)
    }

    // MARK: The contract

    @Test("each shipped format, and one of text, meets the contract")
    func contract() async {
        await PayloadFormatContract(
            CloudEventsFormat(),
            payloads: [
                #"{"specversion":"1.0","id":"1","source":"/a","type":"t","subject":"s","time":"2026-11-27T12:00:00Z","data":{"a":[1]}}"#,
                #"{"data":"x","type":"t","source":"/a","id":"2","specversion":"1.0"}"#,
            ]
        ).verify()
        await PayloadFormatContract(
            NtfyFormat(),
            payloads: [
                #"{"id":"a","time":1760000000,"expires":1760043200,"event":"message","topic":"t","title":"T","message":"m"}"#,
                #"{"id":"b","time":1760000001,"event":"keepalive","topic":"t"}"#,
            ]
        ).verify()
        await PayloadFormatContract(
            QuickBloxFormat(),
            payloads: [
                RawPayload(#"{"message":"a","dialog_id":"d","ios_badge":2}"#),
                RawPayload("SGVsbG8=", transport: .quickblox),
                RawPayload("a=QQ==&b=Qg==", transport: .quickblox), RawPayload(#"{"VOIPCall":"1","sessionID":"s"}"#),
            ]
        ).verify()
        await PayloadFormatContract(TestLines(), payloads: ["id=1\nfrom=a\nkind=k\nat=5", "id=2"]).verify()
    }

    /// Bad formats, each with a payload and how the guarantee begins that it breaks.
    private static let broken: [(format: ScriptedFormat, payload: String, guarantee: String)] = [
        (ScriptedFormat(name: "ntfy"), #"{"other":1}"#, "a payload of the format"),
        (ScriptedFormat(evidence: Evidence(["x"])), #"{"scripted":1}"#, "the evidence of a JSON object"),
        (ScriptedFormat(key: "text"), #"{"text":1}"#, "a payload of Kii"),
        (ScriptedFormat(key: "specversion"), #"{"specversion":"2"}"#, "no shipped format claims"),
        (
            ScriptedFormat(push: { () throws(DecodeError) in ForeignPush(data: .json("{")) }), #"{"scripted":1}"#,
            "a receiver routes it"
        ),
        (
            ScriptedFormat(push: { () throws(DecodeError) in
                ForeignPush(type: "\(Self.count.add(1, ordering: .relaxed).newValue)")
            }), #"{"scripted":1}"#, "a message keeps its payload"
        ),
    ]
    private static let count = Atomic<Int>(0)

    @Test("the contract names the guarantee that a bad format breaks", arguments: broken.indices)
    func contractFails(index: Int) async {
        let (format, payload, guarantee) = Self.broken[index]
        var found: [String] = []
        await PayloadFormatContract(format, payloads: [payload]).verify { text, _ in found.append(text) }
        #expect(found.contains { $0.hasPrefix(guarantee) }, "\(found)")
    }

    @Test("the contract finds two messages with one identity, and a suite without payloads")
    func contractIdentity() async {
        var found: [String] = []
        await PayloadFormatContract(TestLines(), payloads: ["id=1\nx=1", "id=1\nx=2"]).verify { text, _ in
            found.append(text)
        }
        #expect(found.contains("two messages have two identities"))
        found = []
        await PayloadFormatContract(TestLines(), payloads: [String]()).verify { text, _ in found.append(text) }
        #expect(found.first == "the suite has payloads")
    }
}
