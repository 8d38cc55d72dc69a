import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

/// A format of one's own: what it claims, what is read, and what a bad one can do.
struct PayloadFormatTests {
    private static let lines = "id=17\nfrom=cellar\nkind=temp\nroom=b\nat=1760000000000\nuntil=1760000100000\nsay=hot"

    private func push(_ payload: RawPayload, _ formats: [any PayloadFormat]) throws -> ForeignPushMessage {
        try #require(ForeignPushMessage(PushMessage(payload, formats: PayloadFormats(formats))))
    }

    @Test("bytes that are not JSON are read by the format that recognises them, and kept as they came")
    func text() throws {
        for transport in [nil, Transport.mqtt, "radio"] {
            let payload = RawPayload(Self.lines, transport: transport)
            let push = try push(payload, [TestLines()])
            #expect(push.format == "lines" && push.id == "17" && push.source == "cellar" && push.type == "temp")
            #expect(push.subject == "b" && push.sentAt == 1_760_000_000_000 && push.expiresAt == 1_760_000_100_000)
            #expect(push.alert?.body == "hot" && push.data["kind"] == .string("temp") && push.data.keys.count == 7)
            let message = push.message
            #expect(message.raw == payload && message.dialect == .foreign && message.kind == .directPush)
            #expect(message.certainty == .certain && message.classification.evidence == ["id"])
            #expect(message.sentAt == push.sentAt && message.expiresAt == push.expiresAt)
            #expect(message.description.contains("Direct Push, format lines, type temp"))
            #expect(KiiField.allCases.allSatisfy { message[$0] == nil } && message.sender == nil)
        }
    }

    @Test(
        "refuses payloads that no format recognizes",
        arguments: [
            ("hello", DecodeError.Code.unexpectedCharacter), ("[1]", .notAnObject), ("", .empty),
            ("{\"a\":1", .unexpectedEnd), (#"{"a":1,"a":2}"#, .duplicateKey),
        ])
    func unclaimed(payload: String, code: DecodeError.Code) {
        for formats in [PayloadFormats([]), .shipped, PayloadFormats([TestLines()])] {
            let error = #expect(throws: DecodeError.self) { try PushMessage(RawPayload(payload), formats: formats) }
            #expect(error?.code == code)
        }
    }

    @Test(
        "formats are not asked about duplicate keys or payloads beyond a limit",
        arguments: [#"{"a":1,"a":2}"#, "id=1\nx=2"])
    func neverAsked(payload: String) {
        struct Greedy: PayloadFormat {
            let name = "greedy"
            func recognise(_ payload: borrowing PayloadView) -> Evidence? { Evidence() }
            func read(_ payload: borrowing PayloadView) throws(DecodeError) -> ForeignPush { ForeignPush() }
        }
        #expect(throws: DecodeError.self) {
            try PushMessage(RawPayload(payload), limits: PayloadLimits(bytes: 7), formats: PayloadFormats([Greedy()]))
        }
    }

    @Test("without formats, no message has one")
    func none() throws {
        let message = try PushMessage(
            RawPayload(#"{"dialog_id":"d"}"#, transport: .quickblox), formats: PayloadFormats([]))
        #expect(message.format == nil && message.certainty == .likely && message.data.keys == ["dialog_id"])
    }

    // MARK: Beside Kii and each other

    @Test(
        "a key of Kii's that proves the kind comes before every format",
        arguments: [
            #"{"scripted":1,"bucketID":"b"}"#, #"{"scripted":1,"topic":"t","objectScopeType":"APP"}"#,
            #"{"scripted":1,"topic":"t","sender":"u"}"#, #"{"scripted":1,"origin":"EVENT"}"#,
            #"{"scripted":1,"sourceURI":"kiicloud://users/u"}"#, #"{"scripted":1,"objectScopeUserID":"u"}"#,
            #"{"scripted":1,"aps":{},"bi":"b"}"#,
        ])
    func kiisFirst(payload: String) throws {
        #expect(try PushMessage(RawPayload(payload), formats: PayloadFormats([ScriptedFormat()])).format == nil)
    }

    @Test("beside a topic alone, strong evidence counts and weak evidence does not")
    func topicAlone() throws {
        let payload = RawPayload(#"{"scripted":1,"topic":"t"}"#)
        let strong = try PushMessage(payload, formats: PayloadFormats([ScriptedFormat()]))
        #expect(strong.format == "scripted" && strong.kind == .directPush && strong[.topic] == nil)
        #expect(strong.data.keys == ["scripted", "topic"])
        let weak = ScriptedFormat(evidence: Evidence(["scripted"], isWeak: true))
        #expect(try PushMessage(payload, formats: PayloadFormats([weak])).kind == .pushToUser)
    }

    @Test("a payload that two formats claim is ambiguous, names both, and has a weak key")
    func rivals() throws {
        let formats = PayloadFormats([
            ScriptedFormat(name: "one", push: { () throws(DecodeError) in ForeignPush(id: "1") }),
            ScriptedFormat(name: "two"),
        ])
        let message = try PushMessage(RawPayload(#"{"scripted":1}"#), formats: formats)
        #expect(message.format == "one" && message.certainty == .ambiguous)
        #expect(message.classification.conflicts.map(\.name) == ["format"])
        #expect(message.classification.conflicts.first?.reason == "several formats claim the payload: one, two")
        #expect(message.dedupeKeys(secret: .published).strength == .weak)
    }

    @Test("over a format's own transport Kii's keys are data; other transports are unaffected")
    func ownTransport() throws {
        let formats = PayloadFormats([ScriptedFormat(transport: "radio"), TestLines()])
        let stated = try PushMessage(RawPayload(#"{"bucketID":"b"}"#, transport: "radio"), formats: formats)
        #expect(stated.format == "scripted" && stated.bucket == nil && stated.data.keys == ["bucketID"])
        let claimedTwice = try PushMessage(RawPayload("id=1", transport: "radio"), formats: formats)
        #expect(claimedTwice.format == "scripted" && claimedTwice.certainty == .certain)
        let other = try PushMessage(RawPayload(#"{"bucketID":"b"}"#, transport: "cable"), formats: formats)
        #expect(other.format == nil && other.kind == .pushToApp)
    }

    // MARK: What is read

    @Test("a format's own data may have any keys, and the payload stays as received")
    func otherData() throws {
        let format = ScriptedFormat(push: { () throws(DecodeError) in
            ForeignPush(data: .json(#"{"aps":1,"from":"x","topic":2,"_kl":"s","deep":{"a":[1]}}"#))
        })
        let message = try PushMessage(RawPayload(#"{"scripted":1,"when":"\u0031"}"#), formats: PayloadFormats([format]))
        #expect(
            message.data.keys == ["aps", "from", "topic", "_kl", "deep"]
                && message.data["deep"]?["a"]?[0] == .number("1"))
        #expect(message.rawObject["scripted"] == .number("1") && message.jsonText == #"{"scripted":1,"when":"\u0031"}"#)
        #expect(message.raw.bytes == Array(#"{"scripted":1,"when":"\u0031"}"#.utf8) && message.lineage == nil)
        var criteria = RouteCriteria(data: [.data("topic", .equals(2)), .data("from", .equals("x"))])
        criteria.format = "scripted"
        let buffer = message.storage.buffer
        let matches = criteria.matchesContent(buffer.span, message.storage)
        #expect(matches)
    }

    @Test("a format's own keys are not data, and Apple's values come from it")
    func ownKeys() throws {
        let format = ScriptedFormat(push: { () throws(DecodeError) in
            var push = ForeignPush(alert: Alert(title: "t", subtitle: nil, body: "b"))
            push.ownKeys = ["scripted"]
            push.apple = [
                ("badge", .string("3")), ("mutable-content", .number("1")), ("thread-id", .string("h")),
                ("relevance-score", .number("0")),
            ]
            return push
        })
        let message = try PushMessage(
            RawPayload(#"{"scripted":1,"x":2,"from":"y"}"#), formats: PayloadFormats([format]))
        let aps = try #require(message.aps)
        #expect(message.data.keys == ["x"] && aps.badge == 3 && aps.alert?.title == "t")
        #expect(aps.mutableContent && aps.threadID == "h" && aps["relevance-score"] == .number("0"))
    }

    // MARK: Bad formats

    @Test("a format's error refuses the payload with its name", arguments: [-5, 3, 9000])
    func throwing(offset: Int) {
        let format = ScriptedFormat(push: { () throws(DecodeError) in
            throw DecodeError(.badEncoding, at: offset, "no\u{7}thing " + String(repeating: "x", count: 1000))
        })
        let payload = RawPayload(#"{"scripted":1}"#)
        let error = #expect(throws: DecodeError.self) { try PushMessage(payload, formats: PayloadFormats([format])) }
        #expect(error?.code == .badEncoding && error?.detail.hasPrefix("scripted: nothing x") == true)
        #expect((0...payload.bytes.count).contains(error?.offset ?? -1) && error?.detail.utf8.count ?? 0 < 300)
    }

    private static let excess: [ForeignPush] = [
        ForeignPush(id: String(repeating: "x", count: 65_537)),
        ForeignPush(source: String(repeating: "x", count: 65_537)),
        ForeignPush(type: String(repeating: "x", count: 65_537)),
        ForeignPush(subject: String(repeating: "x", count: 65_537)),
        ForeignPush(alert: Alert(title: String(repeating: "x", count: 65_537), subtitle: nil, body: nil)),
        ForeignPush(data: .json("{")), ForeignPush(data: .json("[]")), ForeignPush(data: .json("")),
        ForeignPush(data: .json(#"{"a":1,"a":2}"#)), ForeignPush(data: .members([("a", .null), ("a", .null)])),
        ForeignPush(data: .json(String(repeating: #"{"a":"#, count: 40) + "1" + String(repeating: "}", count: 40))),
        ForeignPush(data: .json("{\"a\":\"" + String(repeating: "x", count: 400_000) + "\"}")),
    ]

    @Test("bounds what a format returns, and reads its data strictly", arguments: excess.indices)
    func excessive(index: Int) {
        let format = ScriptedFormat(push: { () throws(DecodeError) in Self.excess[index] })
        for payload in [RawPayload(#"{"scripted":1}"#), RawPayload("bytes", transport: "radio")] {
            var format = format
            format.transport = payload.transport
            let error = #expect(throws: DecodeError.self) {
                try PushMessage(payload, formats: PayloadFormats([format]))
            }
            #expect(error?.detail.hasPrefix("scripted: ") == true && error?.offset == 0)
        }
    }

    @Test("blank texts count as missing, and long lists are cut")
    func blank() throws {
        let format = ScriptedFormat(
            evidence: Evidence((0..<40).map { "k\($0)\u{1B}[2J" }),
            push: { () throws(DecodeError) in
                var push = ForeignPush(id: " ", source: "", type: "\n", subject: "\t")
                push.ownKeys = (0..<200).map { "x\($0)" }
                push.apple = (0..<200).map { ("x\($0)", .null) }
                return push
            })
        let push = try push(RawPayload(#"{"scripted":1,"x3":1,"x100":1}"#), [format])
        #expect(push.id == nil && push.source == nil && push.type == nil && push.subject == nil)
        #expect(push.data.keys == ["scripted", "x100"] && push.message.aps?.keys.count == 64)
        let evidence = push.message.classification.evidence
        #expect(evidence.count == 16 && evidence.allSatisfy { !$0.contains("\u{1B}") })
        #expect(push.message.dedupeKeys(secret: .published).strength == .weak)
    }

    // MARK: The view

    @Test("a view shows the root members of an object, whatever escapes its keys have")
    func objectView() throws {
        let text = #"{"a":1,"":2,"topic":"x","long key of many bytes":[1],"a b":null}"#
        let bytes = Array(text.utf8)
        let bits = try RootMembers(bytes.span, limits: .standard).keyBits
        let view = PayloadView(bytes + Array("more".utf8), count: bytes.count, .mqtt, keyBits: bits, .standard)
        let values = [view["a"], view[""], view["topic"], view["long key of many bytes"]?[0], view["a b"], view["c"]]
        #expect(values == [.number("1"), .number("2"), .string("x"), .number("1"), .null, nil])
        let has = [view.has("a b"), view.has("a ")]
        #expect(has == [true, false])
        let keys = view.members.map(\.key)
        #expect(keys == ["a", "", "topic", "long key of many bytes", "a b"])
        let (read, same, json) = (view.text, view.bytes, view.json)
        #expect(read == text && same == bytes && json?["a"] == .number("1"))
    }

    @Test(
        "a view of bytes that are no object has their text and JSON, but no members",
        arguments: [("[1,{\"a\":2}]", true), ("17", true), ("id=1", false), ("{\"a\":1", false), ("", false)])
    func otherView(text: String, isJSON: Bool) {
        let view = PayloadView(Array(text.utf8), count: text.utf8.count, nil, keyBits: nil, .standard)
        let (value, has, members, read, json) = (view["a"], view.has("a"), view.members, view.text, view.json)
        #expect(value == nil && !has && members.isEmpty && read == text && (json != nil) == isJSON)
        let bytes = PayloadView([0xFF, 0xFE], count: 2, nil, keyBits: nil, .standard)
        let (none, nothing) = (bytes.text, bytes.json)
        #expect(none == nil && nothing == nil)
    }
}

/// Readings as lines of `KEY=VALUE`, for tests: it reads whatever begins with `id=`.
struct TestLines: PayloadFormat {
    var name = "lines"

    func recognise(_ payload: borrowing PayloadView) -> Evidence? {
        payload.text?.hasPrefix("id=") == true ? Evidence(["id"]) : nil
    }

    func read(_ payload: borrowing PayloadView) throws(DecodeError) -> ForeignPush {
        var values: [(key: String, value: DataValue)] = []
        for line in payload.text?.split(separator: "\n") ?? [] {
            let parts = line.split(separator: "=", maxSplits: 1)
            guard parts.count == 2 else { throw DecodeError(.badEncoding, at: 3, "expected KEY=VALUE") }
            values.append((String(parts[0]), .string(String(parts[1]))))
        }
        func value(_ key: String) -> String? { values.first { $0.key == key }?.value.string }
        return ForeignPush(
            id: value("id"), source: value("from"), type: value("kind"), subject: value("room"),
            sentAt: value("at").flatMap { Int64($0) }, expiresAt: value("until").flatMap { Int64($0) },
            alert: value("say").map { Alert(title: nil, subtitle: nil, body: $0) }, data: .members(values))
    }
}

/// A format that does what the test says.
struct ScriptedFormat: PayloadFormat {
    var name = "scripted"
    var transport: Transport?
    /// The root key that it recognises a payload by.
    var key = "scripted"
    var evidence: Evidence?
    var push: @Sendable () throws(DecodeError) -> ForeignPush = { () throws(DecodeError) in ForeignPush() }

    func recognise(_ payload: borrowing PayloadView) -> Evidence? {
        payload.has(key) || payload.transport != nil && payload.transport == transport
            ? evidence ?? Evidence([key]) : nil
    }

    func read(_ payload: borrowing PayloadView) throws(DecodeError) -> ForeignPush { try push() }
}
