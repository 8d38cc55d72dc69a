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
            "{\"a\":[ ],\"b\":{ },\"c\":[ 1 , 2 ],\"d\":{ \"e\" : 1 }}", #"{"a":"\"\\\/\b\f\n\r\t"}"#,
            #"{"a":"\u0000\u001f\u007F\u00e9\uFFFF\uABCD\uabcd"}"#, #"{"a":"\ud83d\ude00\uD800\uDC00\uDBFF\uDFFF"}"#,
            "{\"a\":\"\u{7F}é€😀\u{FEFF}\u{2028}\u{10FFFF}\"}", "{\"é\":1,\"😀\":2}",
            #"{"a'b":"/*no comment*/ //nor here"}"#,
        ])
    func accepts(_ text: String) throws {
        _ = try PushMessage(json: text)
    }

    @Test(
        "refuses an unexpected character where it stands",
        arguments: [
            // Commas.
            #"{"a":1,↓}"#, #"{↓,"a":1}"#, #"{"a":1,↓,"b":2}"#, #"{"a":1 ↓"b":2}"#, #"{↓,}"#, #"{"a":[1,↓]}"#,
            #"{"a":[↓,1]}"#, #"{"a":[1,↓,2]}"#, #"{"a":[1 ↓2]}"#, #"{"a":[↓,]}"#, #"{"a":{"b":1,↓}}"#,
            #"{"a":1↓;"b":2}"#,
            // Colons.
            #"{"a"↓}"#, #"{"a" ↓1}"#, #"{"a":↓:1}"#, #"{"a"↓=1}"#, #"{"a"↓,"b":1}"#, #"{"a":{"b"↓}}"#,
            #"{"a":["b"↓:1]}"#,
            // Missing and wrong values and keys.
            #"{"a":↓}"#, #"{"a":↓,"b":1}"#, #"{↓a:1}"#, #"{↓1:1}"#, #"{↓null:1}"#, #"{↓{}:1}"#, #"{↓'a':1}"#,
            #"{"a":↓'b'}"#, #"{"a":{↓b:1}}"#, #"{"a":1,↓b:1}"#,
            // Brackets that do not match.
            #"{"a":[1↓}}"#, #"{"a":{"b":1↓]}"#, #"{"a":[↓}}"#, #"{"a":{↓]}"#, #"{"a":1↓]"#, #"{↓]"#, #"{"a":[[1]↓}}"#,
            // Comments, and more than one value.
            #"↓/*a*/{}"#, #"{↓/*a*/}"#, #"{"a":1↓//b"#, #"{"a":↓#b"#, #"{}↓{}"#, #"{} ↓1"#, #"{}↓}"#, #"{}↓,"#,
            #"{"a":1}↓garbage"#, "{}↓\u{0}",
            // White space that is none to JSON.
            "↓\u{0B}{}", "↓\u{0C}{}", "{\"a\":↓\u{A0}1}", "{\"a\":↓\u{2028}1}", "{\"a\":↓\u{0}1}", "↓\u{0}",
            // A byte order mark.
            "↓\u{FEFF}{}", "{}↓\u{FEFF}", "{↓\u{0}}\u{0}",
            // Numbers that end too early, and words that are no literals.
            #"{"a":1.5↓.5}"#, #"{"a":↓.5}"#, #"{"a":↓+1}"#, #"{"a":1e5↓.5}"#, #"{"a":1e5↓e5}"#, #"{"a":0↓x10}"#,
            #"{"a":1↓_000}"#, #"{"a":1,↓000}"#, #"{"a":1↓f}"#, #"{"a":↓NaN}"#, #"{"a":↓Infinity}"#, "{\"a\":↓\u{0661}}",
            #"{"a":↓True}"#, #"{"a":t↓RUE}"#, #"{"a":tru↓}"#, #"{"a":true↓x}"#, #"{"a":fals↓y}"#, #"{"a":n↓il}"#,
            #"{"a":nul↓ l}"#, #"{"a":null↓1}"#, #"{"a":↓undefined}"#,
        ])
    func structure(_ marked: String) { RefusedText(marked).check() }

    @Test(
        "refuses malformed numbers at the error",
        arguments: [
            #"{"a":0↓1}"#, #"{"a":-0↓1}"#, #"{"a":0↓0}"#, #"{"a":0↓0.5}"#, #"{"a":[0↓1]}"#, #"{"a":1.↓}"#,
            #"{"a":-1.↓,"b":1}"#, #"{"a":1.↓e5}"#, #"{"a":1.↓.5}"#, #"{"a":-↓.5}"#, #"{"a":-↓-1}"#, #"{"a":-↓+1}"#,
            #"{"a":-↓}"#, #"{"a":-↓ 1}"#, #"{"a":1e↓}"#, #"{"a":1E↓,"b":1}"#, #"{"a":1e+↓}"#, #"{"a":1e-↓]}"#,
            #"{"a":1e+↓-5}"#, #"{"a":-↓Infinity}"#,
        ])
    func numbers(_ marked: String) { RefusedText(marked, .invalidNumber).check() }

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
}
