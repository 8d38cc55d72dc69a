import KiiPush
import KiiPushTesting

/// Valid payloads of any size that are designed to be slow.
///
/// Their cost per byte is compared with that of an ordinary payload.
struct HostileShape: Sendable {
    /// The part that is large.
    let name: String
    /// The transport of the payload.
    let transport: Transport?
    private let make: @Sendable (Int) -> String

    private init(_ name: String, over transport: Transport? = nil, _ make: @escaping @Sendable (Int) -> String) {
        self.name = name
        self.transport = transport
        self.make = make
    }

    /// A payload of at most `bytes`, and nearly that many.
    func payload(bytes: Int) -> RawPayload { RawPayload(make(bytes), transport: transport) }

    /// An ordinary payload, of fixed size.
    static var ordinary: RawPayload {
        PayloadFixture.pushToUser(
            scope: .user(KiiUser(id: "01234567-89ab-cdef-0123-456789abcdef")),
            data: [("text", .string("The door was opened.")), ("level", .number("3")), ("urgent", .bool(true))]
        ).payload(.long)
    }

    // MARK: The shapes

    /// All of them.
    static let all: [HostileShape] = keys + values + nested + bodies

    private static let keys = [
        HostileShape("short keys, all different") { members($0, most: 1024) { "\"k\($0)\":\($0)" } },
        HostileShape("long keys that differ in their last bytes") {
            let stem = repeated("k", 50)
            return members($0, most: 1024) { "\"\(stem)\(padded($0))\":1" }
        },
        HostileShape("sixteen keys that differ in their last bytes") {
            let stem = repeated("k", $0 / 16 - 13)
            return members($0, most: 16) { "\"\(stem)\(padded($0))\":1" }
        },
        HostileShape("keys of escapes") {
            let stem = repeated("\\u006b", 8)
            return members($0, most: 1024) { "\"\(stem)\(padded($0))\":1" }
        },
        HostileShape("keys as long as Kii's") { members($0, most: 1024) { "\"objectScope\(padded($0))\":1" } },
        HostileShape("keys in Apple's dictionary", over: .apns) {
            #"{"aps":"# + members($0 - 8, most: 1023) { "\"k\($0)\":\"\($0)\"" } + "}"
        },
        HostileShape("a key of marks in the wrong order") {
            "{\"\(repeated("\u{301}\u{323}", ($0 - 60) / 4))\":1}"
        },
        HostileShape("a key of marks in the wrong order, beside one of QuickBlox") {
            "{\"VOIPCall\":1,\"i\(repeated("\u{301}\u{323}", ($0 - 80) / 4))\":1}"
        },
        HostileShape("a key of marks in the wrong order, in Apple's dictionary", over: .apns) {
            #"{"aps":{"alert":{"\#(repeated("\u{301}\u{323}", ($0 - 60) / 4))":"a"}}}"#
        },
    ]

    private static let values = [
        HostileShape("a plain string") { string(repeated("a", $0 - 20)) },
        HostileShape("a string of two-byte characters") { string(repeated("\u{E9}", ($0 - 20) / 2)) },
        HostileShape("a string of four-byte characters") { string(repeated("\u{1F600}", ($0 - 20) / 4)) },
        HostileShape("a string of marks in the wrong order") { string(repeated("\u{301}\u{323}", ($0 - 20) / 4)) },
        HostileShape("an event and a bucket's type of marks") {
            let marks = repeated("\u{301}\u{323}", ($0 - 100) / 8)
            return "{\"bucketID\":\"b\",\"objectScopeType\":\"APP\",\"bucketType\":\"\(marks)\",\"type\":\"\(marks)\"}"
        },
        HostileShape("a string of short escapes") { string(repeated("\\n", ($0 - 20) / 2)) },
        HostileShape("a string of long escapes") { string(repeated("\\u0041", ($0 - 20) / 6)) },
        HostileShape("a string of surrogate pairs") { string(repeated("\\ud83d\\ude00", ($0 - 20) / 12)) },
        HostileShape("one long number") { "{\"text\":" + repeated("9", $0 - 20) + "}" },
        HostileShape("one long fraction") { "{\"text\":0." + repeated("1", $0 - 20) + "e-300}" },
        HostileShape("many numbers") { "{\"text\":[" + repeated("1,", ($0 - 20) / 2) + "1]}" },
        HostileShape("white space") { "{\"text\":" + repeated(" ", $0 - 20) + "1}" },
        HostileShape("a time of escapes") { "{\"when\":\"" + repeated("\\u0031", ($0 - 20) / 6) + "\"}" },
        HostileShape("a long URI") { "{\"sourceURI\":\"kiicloud://users/" + repeated("u", $0 - 50) + "\"}" },
        HostileShape("a URI of slashes") { "{\"sourceURI\":\"kiicloud://" + repeated("/", $0 - 50) + "\"}" },
    ]

    private static let nested = [
        HostileShape("numbers under 30 arrays") { deep("[", repeated("1,", ($0 - 100) / 2) + "1", "]", 30) },
        HostileShape("numbers under 30 objects") {
            deep("{\"a\":", "[" + repeated("1,", ($0 - 400) / 2) + "1]", "}", 30)
        },
        HostileShape("members under 30 objects") {
            deep("{\"a\":", members($0 - 300, most: 990) { "\"k\($0)\":\"\($0)\"" }, "}", 29)
        },
        HostileShape("one key again and again, nested") {
            #"{"text":"# + members($0 - 20, most: 1023) { _ in "\"k\":[1,2,3]" } + "}"
        },
        HostileShape("nested objects of two keys") {
            "{\"text\":[" + repeated("{\"a\":1,\"b\":2},", min($0 / 14 - 2, 500)) + "1]}"
        },
        HostileShape("empty arrays") { "{\"text\":[" + repeated("[],", ($0 - 20) / 3) + "[]]}" },
        HostileShape("arrays in arrays, again and again") {
            let one = repeated("[", 20) + repeated("]", 20)
            return "{\"text\":[" + repeated(one + ",", ($0 - 80) / 41) + one + "]}"
        },
    ]

    private static let bodies = [
        HostileShape("a command of many actions") {
            #"{"commandID":"c","actions":[{"a":["#
                + repeated(#"{"b":1},"#, min(($0 - 80) / 8, 1000))
                + #"{"b":"\#(repeated("x", max(0, $0 - 8200)))"}]}]}"#
        },
        HostileShape("what is nearly a command") {
            #"{"commandID":"c","actions":["# + repeated("1,", ($0 - 60) / 2) + "1]}"
        },
        HostileShape("JSON in JPush's message", over: .jpush) {
            #"{"cn.jpush.android.MESSAGE":"{\"a\":\"# + "\"" + repeated("\\\\n", ($0 - 80) / 3) + #"\"}"}"#
        },
        HostileShape("FCM's message", over: .fcm) {
            #"{"message":{"data":"# + members($0 - 30, most: 1000) { "\"k\($0)\":\"\($0)\"" } + "}}"
        },
        HostileShape("QuickBlox, a text of form escapes", over: .quickblox) {
            #"{"message":"\#(repeated("%C3%A9", ($0 - 40) / 6))"}"#
        },
        HostileShape("QuickBlox, a call with many names", over: .quickblox) {
            #"{"sessionID":"s","opponentsIDs":"\#(repeated("1,", ($0 - 60) / 2))1"}"#
        },
        HostileShape("QuickBlox, a call of marks", over: .quickblox) {
            let marks = repeated("\u{301}\u{323}", ($0 - 200) / 12)
            let others = repeated("\u{301},", ($0 - 200) / 9)
            let ids = #""senderId":"e\#(marks)","recipientIds":"\#(others)""#
            return #"{"sessionId":"s","collapse_key":"event\#(marks)",\#(ids)}"#
        },
        HostileShape("a QuickBlox event of many pairs", over: .quickblox) {
            (0..<min($0 / 20, 1000)).map { "key\($0)=QUJDREVG" }.joined(separator: "&")
        },
        HostileShape("a QuickBlox event of one text", over: .quickblox) { "a=" + repeated("QUJD", ($0 - 20) / 4) },
    ]

    // MARK: Making them

    private static func repeated(_ text: String, _ count: Int) -> String {
        String(repeating: text, count: max(0, count))
    }

    private static func string(_ inside: String) -> String { "{\"text\":\"\(inside)\"}" }

    private static func deep(_ open: String, _ inside: String, _ close: String, _ depth: Int) -> String {
        "{\"text\":" + repeated(open, depth) + inside + repeated(close, depth) + "}"
    }

    private static func padded(_ number: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: 5 - digits.count) + digits
    }

    /// An object with as many members as fit, at most `most`, filled up with a string.
    private static func members(_ bytes: Int, most: Int, _ member: (Int) -> String) -> String {
        var text = "{"
        for number in 0..<(most - 1) {
            let next = member(number)
            guard text.utf8.count + next.utf8.count + 20 < bytes else { break }
            text += next + ","
        }
        return text + "\"rest\":\"" + repeated("r", bytes - text.utf8.count - 12) + "\"}"
    }
}

extension PushMessage {
    /// Reads once everything that a receiver and its handlers read, and returns a value that depends on it.
    func readAll(secret: DedupeSecret) -> Int {
        var sum = dedupeKeys(app: "0123abcd", secret: secret).hashValue
        sum ^= classification.conflicts.count ^ (alert?.body?.utf8.count ?? 0) ^ (sender?.id.utf8.count ?? 0)
        for field in KiiField.allCases { sum ^= self[field]?.utf8.count ?? 0 }
        for (_, value) in data.members { sum ^= (value.integer.map { Int(truncatingIfNeeded: $0) } ?? 0) }
        sum ^= (try? data.decode(Text.self))?.text?.utf8.count ?? 0
        let text = data["text"]
        sum ^=
            text?.double?.hashValue ?? (text?.bool ?? true).hashValue ^ text.hashValue ^ (text == data["rest"] ? 1 : 0)
        sum ^= event == .objectCreated ? 1 : bucket?.type == .sync ? 2 : 3
        let direct = DirectPushMessage(self)
        return sum ^ (direct?.quickBlox?.text?.utf8.count ?? 0) ^ (direct?.command?.issuer == nil ? 0 : 1)
    }

    // A dictionary of strings would use Swift's hashing for each key, which is the caller's choice.
    private struct Text: Decodable {
        let text: String?
    }
}
