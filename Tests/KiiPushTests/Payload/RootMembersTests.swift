import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

struct RootMembersTests {
    @Test("an empty or blank payload is empty", arguments: ["", " ", "\n", "\t\r\n  \n"])
    func empty(_ text: String) {
        RefusedText(text, Array(text.utf8), .empty, at: 0).check()
    }

    @Test(
        "refuses a valid value that is not an object at its beginning",
        arguments: [
            "↓[]", " \n↓[{\"a\":1}] ", "↓\"{}\"", "↓1", "\t↓-0.5e3", "↓true", "↓null", "↓[{\"a\":1,\"a\":2}]",
        ])
    func notAnObject(_ marked: String) { RefusedText(marked, .notAnObject).check() }

    @Test(
        "syntax errors take precedence over other errors",
        arguments: [
            RefusedText("[1,↓]"), RefusedText("[]↓x"), RefusedText("[↓", .unexpectedEnd), RefusedText("1 ↓2"),
            RefusedText("0↓1", .invalidNumber), RefusedText("\"↓\\q\"", .invalidEscape), RefusedText("[\"↓\u{1}\"]"),
            RefusedText("not UTF-8 in an array", [0x5B, 0x22, 0xFF, 0x22, 0x5D], .invalidUTF8, at: 2),
            RefusedText(#"{"a":1,"a":2↓"#, .unexpectedEnd), RefusedText(#"{"a":1,"a":2,↓}"#),
            RefusedText(#"{"a":1,"a":2}↓x"#), RefusedText(#"{"bi":1,"bi":2,"x":0↓1}"#, .invalidNumber),
            RefusedText(#"{"a":1,"\u0061":"↓\ud800"}"#, .invalidEscape),
            RefusedText(
                "doubled, then not UTF-8", Array(#"{"a":1,"a":""#.utf8) + [0xFF, 0x22, 0x7D], .invalidUTF8, at: 12),
        ])
    func syntaxFirst(_ refusal: RefusedText) { refusal.check() }

    @Test(
        "refuses a duplicate root key at its second position",
        arguments: [
            #"{"a":1,↓"a":1}"#, #"{"a":1,"b":2, ↓"a":3,"b":4}"#, #"{"":1,↓"":2}"#, #"{"é":1,↓"é":2}"#,
            // Kii's own keys, of either style, and Apple's.
            #"{"bi":"x",↓"bi":"y"}"#, #"{"bucketID":"x",↓"bucketID":"x"}"#, #"{"aps":{},"a":1,↓"aps":{}}"#,
            #"{"s":"",↓"s":"u"}"#, #"{"to":null,↓"to":"x","bi":1,"bi":2}"#, #"{"x":1,"bi":"b",↓"x":2,"bi":"c"}"#,
            #"{"x":1,"bi":"b",↓"bi":"c","x":2}"#,
            // The same key, escaped otherwise.
            #"{"a":1,↓"\u0061":2}"#, #"{"\u0061":1,↓"a":2}"#, #"{"\u0061":1,↓"\u0061":2}"#, #"{"\/":1,↓"/":2}"#,
            #"{"bucketID":"x",↓"bucket\u0049D":"y"}"#, #"{"\u0062i":"x",↓"bi":"y"}"#, #"{"a\u0070s":{},↓"aps":{}}"#,
            #"{"😀":1,↓"\ud83d\ude00":2}"#, #"{"\u0061":1,"b":2,↓"b":3,"bi":1,"bi":2,"a":4}"#,
            // The same with keys that nobody knows, which are compared elsewhere: the first that stands again counts.
            #"{"x":1,↓"\u0078":2}"#, #"{"\u0078":1,↓"x":2}"#, #"{"\u0078":1,↓"\u0078":2}"#,
            #"{"\u0078":1,↓"x":2,"y":3,"y":4,"bi":1,"bi":2}"#, #"{"\u0078":1,"y":3,"bi":1,↓"bi":2,"x":2,"y":4}"#,
        ])
    func duplicates(_ marked: String) { RefusedText(marked, .duplicateKey).check() }

    @Test("finds a duplicate among any number of keys", arguments: [1, 2, 15, 16, 17, 18, 40, 200])
    func manyKeys(_ count: Int) throws {
        let members = (0..<count).map { "\"key\($0)\":\($0)" }
        let distinct = "{" + members.joined(separator: ",") + "}"
        #expect(try PushMessage(json: distinct).data.keys.count == count)
        for doubled in Set([0, count / 2, count - 1]) {
            let text = distinct.dropLast() + ",↓\"key\(doubled)\":\"again\"}"
            RefusedText(String(text), .duplicateKey).check()
        }
    }

    @Test(
        "keys that only look alike differ",
        arguments: [
            #"{"a":1,"A":2}"#, #"{"a":1,"a ":2}"#, #"{"a":1,"":2}"#, #"{"bi":"b","BI":"c"}"#, #"{"a":1,"\\u0061":2}"#,
            // The same text to a reader, but not the same bytes: composed and decomposed.
            "{\"\u{E9}\":1,\"e\u{301}\":2}", #"{"\u00e9":1,"e\u0301":2}"#,
        ])
    func different(_ text: String) throws {
        #expect(try PushMessage(json: text).data.keys.count == 2)
    }

    @Test("the first of duplicate nested keys counts")
    func nested() throws {
        let message = try PushMessage(
            json: #"{"aps":{"alert":"one","alert":"two","badge":1,"\u0062adge":2},"k":{"a":1,"a":2,"\u0061":3,"b":4},"#
                + #""list":[{"x":"first","x":"second"}]}"#)
        #expect(message.alert?.body == "one")
        #expect(message.aps?.badge == 1)
        #expect(message.data["k"] == .object([("a", .number("1")), ("b", .number("4"))]))
        #expect(message.data["list"] == .array([.object([("x", .string("first"))])]))
    }

    @Test("the first of duplicate nested keys counts, even with a wrong type")
    func nestedWrongType() throws {
        let alert = try PushMessage(json: #"{"aps":{"alert":{"title":7,"title":"two","body":"text"}}}"#).alert
        #expect(alert == Alert(title: nil, subtitle: nil, body: "text"))
    }
}
