import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

/// Every rule of RFC 8259, kept and broken.
struct JSONReaderTests {
    @Test(
        "accepts everything that the grammar allows",
        arguments: [
            "{}", " { } ", "\t\r\n{\t\r\n}\t\r\n ", "{\"\":\"\"}", "{ \"a\" : 1 , \"b\" : 2 }",
            #"{"a":true,"b":false,"c":null}"#, #"{"a":0,"b":-0,"c":1,"d":-1,"e":10,"f":1234567890}"#,
            #"{"a":0.5,"b":-0.5,"c":1.25,"d":0.000,"e":10.010}"#,
            #"{"a":1e0,"b":1E0,"c":1e+5,"d":1e-5,"e":1.5E+300,"f":0e0,"g":-0.0e-0,"h":1e007}"#,
            #"{"a":1e999999999,"b":-1e-999999999,"c":123456789012345678901234567890123456789012345678901234567890}"#,
            #"{"a":[],"b":{},"c":[[]],"d":[{}],"e":{"f":{}},"g":[1,"2",true,null,{"h":[]}]}"#,
            "{\"a\":[ ],\"b\":{ },\"c\":[ 1 , 2 ],\"d\":{ \"e\" : 1 }}",
            #"{"a":"\"\\\/\b\f\n\r\t"}"#, #"{"a":"\u0000\u001f\u007F\u00e9\uFFFF\uABCD\uabcd"}"#,
            #"{"a":"\ud83d\ude00\uD800\uDC00\uDBFF\uDFFF"}"#,
            "{\"a\":\"\u{7F}é€😀\u{FEFF}\u{2028}\u{10FFFF}\"}", "{\"é\":1,\"😀\":2}",
            #"{"a'b":"/*no comment*/ //nor here"}"#,
        ])
    func accepts(_ text: String) throws {
        _ = try PushMessage(json: text)
    }

    @Test(
        "refuses malformed objects and arrays at the error",
        arguments: [
            // Commas.
            RefusedText(#"{"a":1,↓}"#), RefusedText(#"{↓,"a":1}"#), RefusedText(#"{"a":1,↓,"b":2}"#),
            RefusedText(#"{"a":1 ↓"b":2}"#), RefusedText(#"{↓,}"#), RefusedText(#"{"a":[1,↓]}"#),
            RefusedText(#"{"a":[↓,1]}"#), RefusedText(#"{"a":[1,↓,2]}"#), RefusedText(#"{"a":[1 ↓2]}"#),
            RefusedText(#"{"a":[↓,]}"#), RefusedText(#"{"a":{"b":1,↓}}"#), RefusedText(#"{"a":1↓;"b":2}"#),
            // Colons.
            RefusedText(#"{"a"↓}"#), RefusedText(#"{"a" ↓1}"#), RefusedText(#"{"a":↓:1}"#), RefusedText(#"{"a"↓=1}"#),
            RefusedText(#"{"a"↓,"b":1}"#), RefusedText(#"{"a":{"b"↓}}"#), RefusedText(#"{"a":["b"↓:1]}"#),
            // Missing and wrong values and keys.
            RefusedText(#"{"a":↓}"#), RefusedText(#"{"a":↓,"b":1}"#), RefusedText(#"{↓a:1}"#), RefusedText(#"{↓1:1}"#),
            RefusedText(#"{↓null:1}"#), RefusedText(#"{↓{}:1}"#), RefusedText(#"{↓'a':1}"#),
            RefusedText(#"{"a":↓'b'}"#), RefusedText(#"{"a":{↓b:1}}"#), RefusedText(#"{"a":1,↓b:1}"#),
            // Brackets that do not match.
            RefusedText(#"{"a":[1↓}}"#), RefusedText(#"{"a":{"b":1↓]}"#), RefusedText(#"{"a":[↓}}"#),
            RefusedText(#"{"a":{↓]}"#), RefusedText(#"{"a":1↓]"#), RefusedText(#"{↓]"#), RefusedText(#"{"a":[[1]↓}}"#),
            // Comments, and more than one value.
            RefusedText(#"↓/*a*/{}"#), RefusedText(#"{↓/*a*/}"#), RefusedText(#"{"a":1↓//b"#),
            RefusedText(#"{"a":↓#b"#), RefusedText(#"{}↓{}"#), RefusedText(#"{} ↓1"#), RefusedText(#"{}↓}"#),
            RefusedText(#"{}↓,"#), RefusedText(#"{"a":1}↓garbage"#), RefusedText("{}↓\u{0}"),
            // White space that is none to JSON.
            RefusedText("↓\u{0B}{}"), RefusedText("↓\u{0C}{}"), RefusedText("{\"a\":↓\u{A0}1}"),
            RefusedText("{\"a\":↓\u{2028}1}"), RefusedText("{\"a\":↓\u{0}1}"), RefusedText("↓\u{0}"),
            // A byte order mark.
            RefusedText("↓\u{FEFF}{}"), RefusedText("{}↓\u{FEFF}"),
            RefusedText("UTF-16, big end first", [0xFE, 0xFF, 0, 0x7B, 0, 0x7D], .invalidUTF8, at: 0),
            RefusedText("UTF-16 without a mark", [0x7B, 0, 0x7D, 0], .unexpectedCharacter, at: 1),
        ])
    func structure(_ refusal: RefusedText) { refusal.check() }

    @Test(
        "refuses malformed numbers and literals at the error",
        arguments: [
            RefusedText(#"{"a":0↓1}"#, .invalidNumber), RefusedText(#"{"a":-0↓1}"#, .invalidNumber),
            RefusedText(#"{"a":0↓0}"#, .invalidNumber), RefusedText(#"{"a":0↓0.5}"#, .invalidNumber),
            RefusedText(#"{"a":[0↓1]}"#, .invalidNumber), RefusedText(#"{"a":1.↓}"#, .invalidNumber),
            RefusedText(#"{"a":-1.↓,"b":1}"#, .invalidNumber), RefusedText(#"{"a":1.↓e5}"#, .invalidNumber),
            RefusedText(#"{"a":1.↓.5}"#, .invalidNumber), RefusedText(#"{"a":1.5↓.5}"#), RefusedText(#"{"a":↓.5}"#),
            RefusedText(#"{"a":-↓.5}"#, .invalidNumber), RefusedText(#"{"a":↓+1}"#),
            RefusedText(#"{"a":-↓-1}"#, .invalidNumber), RefusedText(#"{"a":-↓+1}"#, .invalidNumber),
            RefusedText(#"{"a":-↓}"#, .invalidNumber), RefusedText(#"{"a":-↓ 1}"#, .invalidNumber),
            RefusedText(#"{"a":1e↓}"#, .invalidNumber), RefusedText(#"{"a":1E↓,"b":1}"#, .invalidNumber),
            RefusedText(#"{"a":1e+↓}"#, .invalidNumber), RefusedText(#"{"a":1e-↓]}"#, .invalidNumber),
            RefusedText(#"{"a":1e+↓-5}"#, .invalidNumber), RefusedText(#"{"a":1e5↓.5}"#),
            RefusedText(#"{"a":1e5↓e5}"#), RefusedText(#"{"a":0↓x10}"#), RefusedText(#"{"a":1↓_000}"#),
            RefusedText(#"{"a":1,↓000}"#), RefusedText(#"{"a":1↓f}"#), RefusedText(#"{"a":↓NaN}"#),
            RefusedText(#"{"a":↓Infinity}"#), RefusedText(#"{"a":-↓Infinity}"#, .invalidNumber),
            RefusedText("{\"a\":↓\u{0661}}"), RefusedText(#"{"a":↓True}"#), RefusedText(#"{"a":t↓RUE}"#),
            RefusedText(#"{"a":tru↓}"#), RefusedText(#"{"a":true↓x}"#), RefusedText(#"{"a":fals↓y}"#),
            RefusedText(#"{"a":n↓il}"#), RefusedText(#"{"a":nul↓ l}"#), RefusedText(#"{"a":null↓1}"#),
            RefusedText(#"{"a":↓undefined}"#),
        ])
    func scalars(_ refusal: RefusedText) { refusal.check() }

    @Test(
        "refuses truncated text at its end",
        arguments: [
            "{", "{ ", #"{"#, #"{""#, #"{"a"#, #"{"a""#, #"{"a":"#, #"{"a": "#, #"{"a":1"#, #"{"a":1,"#, #"{"a":-"#,
            #"{"a":1."#, #"{"a":1e"#, #"{"a":1e+"#, #"{"a":t"#, #"{"a":fals"#, #"{"a":nul"#, #"{"a":""#, #"{"a":"b"#,
            #"{"a":"\"#, #"{"a":"\u"#, #"{"a":"\u12"#, #"{"a":"\ud83d"#, #"{"a":"\ud83d\"#, #"{"a":"\ud83d\u"#,
            #"{"a":"\ud83d\ude0"#, #"{"a":["#, #"{"a":[1"#, #"{"a":[1,"#, #"{"a":{"#, #"{"a":{"b""#, #"{"a":{"b":"#,
            #"{"a":{"b":1"#, #"{"a":[[]"#, "[", "\"", "-", "tru",
        ])
    func cut(_ text: String) {
        RefusedText(text, Array(text.utf8), .unexpectedEnd, at: text.utf8.count).check()
    }

    @Test(
        "a token has its kind and range, a string's without the quotes",
        arguments: [
            ("\"ab\"", JSONToken(.string, 1, 3)), (" \"\" ", JSONToken(.string, 2, 2)),
            ("\"\\n\"", JSONToken(.string, 1, 3, hasEscapes: true)), ("-1.5e3,", JSONToken(.number, 0, 6)),
            ("true", JSONToken(.true, 0, 4)), ("\tfalse", JSONToken(.false, 1, 6)), ("null]", JSONToken(.null, 0, 4)),
            (" {\"a\":[{}]} ", JSONToken(.object, 1, 11)), ("[1,[2],{\"a\":3}]x", JSONToken(.array, 0, 15)),
        ])
    func tokens(_ text: String, _ expected: JSONToken) throws {
        var reader = JSONReader(limits: .standard)
        #expect(try reader.readValue(text.utf8.span, depth: 0) == expected)
        #expect(reader.offset == Int(expected.end) + (expected.kind == .string ? 1 : 0))
    }

    @Test("keys come one by one, then nil behind the brace")
    func keys() throws {
        let text = #"{ "a" : 1 , "b\n" : [2] } "#
        var reader = JSONReader(at: 1, limits: .standard)
        #expect(try reader.nextKey(text.utf8.span, isFirst: true) == JSONToken(.string, 3, 4))
        #expect(try reader.readValue(text.utf8.span, depth: 1) == JSONToken(.number, 8, 9))
        #expect(try reader.nextKey(text.utf8.span, isFirst: false) == JSONToken(.string, 13, 16, hasEscapes: true))
        #expect(try reader.readValue(text.utf8.span, depth: 1) == JSONToken(.array, 20, 23))
        #expect(try reader.nextKey(text.utf8.span, isFirst: false) == nil)
        #expect(reader.offset == 25)
    }

    @Test(
        "reads short keys with and without white space, also near the text's end", arguments: 0...9)
    func shortKeys(_ length: Int) throws {
        let name = String(repeating: "k", count: length)
        for behind in 0...16 {
            let value = String(repeating: "v", count: behind)
            for text in ["\"\(name)\":\(value)", "\"\(name)\" :\(value)", "\"\(name)\": \(value)"] {
                var reader = JSONReader(limits: .standard)
                let key = try #require(try reader.nextRootKey(text.utf8.span, isFirst: true))
                #expect(key.token == JSONToken(.string, 1, 1 + length))
                #expect(key.word == 0 || key.word == name.utf8.span.word(at: 0, length: length))
                #expect(reader.peek(text.utf8.span) == (behind == 0 ? nil : UInt8(ascii: "v")))
            }
            var reader = JSONReader(limits: .standard)
            #expect(throws: DecodeError.self) {
                try reader.nextRootKey("\"\(name)\"\(value)          ".utf8.span, isFirst: true)
            }
        }
    }

    @Test("reads short keys with escapes", arguments: ["k\\n", "\\\"", "é", "k\\u0041", "日本"])
    func unusualKeys(_ name: String) throws {
        let text = "\"\(name)\":\"0123456789abcdef\""
        var reader = JSONReader(limits: .standard)
        let key = try #require(try reader.nextRootKey(text.utf8.span, isFirst: true))
        #expect(key.token.range == 1..<(1 + name.utf8.count))
        #expect(key.word == 0)
    }

    @Test("counts members up to the limit, with short and long keys")
    func limit() throws {
        for key in ["k", "longer than a word"] {
            let text = "\"\(key)\":\"0123456789abcdef\""
            var reader = JSONReader(limits: PayloadLimits(members: 0))
            #expect(throws: DecodeError.self) { try reader.nextRootKey(text.utf8.span, isFirst: true) }
            reader = JSONReader(limits: PayloadLimits(members: 1))
            #expect(try reader.nextRootKey(text.utf8.span, isFirst: true) != nil)
        }
    }
}
