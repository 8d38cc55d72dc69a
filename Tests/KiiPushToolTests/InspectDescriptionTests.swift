import KiiPush
import Testing

@testable import KiiPushAgent
@testable import kiipush

struct InspectDescriptionTests {
    /// As Kii's guide prints it, without the semicolon behind `oi`.
    private static let guide = """
        {
            aps = {
            };
            bi = bucketName;
            bt = rw;
            oi = "fedcba09-8765-4321-fedc-ba0987654321"
            sa = 0123abcd;
            st = "APP_AND_USER";
            su = "01234567-89ab-cdef-0123-456789abcdef";
            t = "DATA_OBJECT_CREATED";
            w = 1403844866395;
        }
        """

    @Test("the description that Kii's guide prints is read as it stands there")
    func documented() async throws {
        let json =
            #"{"aps":{},"bi":"bucketName","bt":"rw","oi":"fedcba09-8765-4321-fedc-ba0987654321","sa":"0123abcd","#
            + #""st":"APP_AND_USER","su":"01234567-89ab-cdef-0123-456789abcdef","t":"DATA_OBJECT_CREATED","#
            + #""w":1403844866395}"#
        let line = try await ToolRun.inspect(Self.guide)
        let expected = try await ToolRun.inspect(json, "--transport", "apns")
        #expect(line.drop { $0 != "," } == expected.drop { $0 != "," })
    }

    @Test(
        "a log's prefix is passed over, semicolons may miss at a line's end, and all may stand on one line",
        arguments: [
            guide.replacing("\n", with: "\r\n"), guide.replacing(";", with: ""),
            "2014-06-27 04:54:26.395 App[1:2] Received notification: " + guide, guide + "\n\n",
            guide.replacing("rw;", with: "\"rw\" ;").replacing("bt", with: "\"b\\U0074\""),
        ])
    func variants(text: String) async throws {
        let line = try await ToolRun.inspect(text)
        let expected = try await ToolRun.inspect(Self.guide)
        #expect(line.drop { $0 != "," } == expected.drop { $0 != "," })
    }

    @Test(
        "values are read as what they look like",
        arguments: [
            ("{ a = b; }", #"{"a":"b"}"#), ("{a=b;}", #"{"a":"b"}"#), ("{ a = b }", #"{"a":"b"}"#),
            ("{ \"a b\" = \"c;d\"; }", #"{"a b":"c;d"}"#), ("{ a = \"\"; }", #"{"a":""}"#),
            ("{ a = 12; b = -1.5; c = 1e3; }", #"{"a":12,"b":-1.5,"c":1e3}"#),
            // No numbers in JSON, so texts here.
            (
                "{ a = 012; b = 1.; c = 0x1F; d = -; e = 12:30; }",
                #"{"a":"012","b":"1.","c":"0x1F","d":"-","e":"12:30"}"#
            ),
            ("{ a = \"12\"; }", #"{"a":"12"}"#),
            (
                "{ a = ( 1, b, \"c d\" ); b = (); c = ( ( 1 ), { d = e; } ); }",
                #"{"a":[1,"b","c d"],"b":[],"c":[[1],{"d":"e"}]}"#
            ),
            ("{ a = <0a0b 0c>; }", #"{"a":"<0a0b 0c>"}"#), ("{ a = (\n1\n,\n2\n); }", #"{"a":[1,2]}"#),
            (#"{ a = "caf\U00e9 \ud83d\ude00 \"q\" \\ \n\r\t\x"; }"#, #"{"a":"café 😀 \"q\" \\ \n\r\tx"}"#),
            (#"{ a = "é\é€"; }"#, #"{"a":"éé€"}"#), (#"{ "\U0061" = "\Ud83d"; }"#, "{\"a\":\"\u{FFFD}\"}"),
            ("{ a = kiicloud://users/u-1/topics/t_1$+; }", #"{"a":"kiicloud://users/u-1/topics/t_1$+"}"#),
            ("{ a = { }; b = {}\n}", #"{"a":{},"b":{}}"#), ("{ }", "{}"),
        ])
    func values(text: String, data: String) async throws {
        #expect(try await ToolRun.inspect(text, "--transport", "mqtt").contains("\"data\":\(data),\"fields\""))
    }

    @Test("without a stated transport its keys are Apple's, with one those of the transport")
    func transports() async throws {
        #expect(try await ToolRun.inspect("{ to = T; topic = U; }").contains(#""evidence":["to"]"#))
        #expect(
            try await ToolRun.inspect("{ to = T; topic = U; }", "--transport", "fcm").contains(#""evidence":["topic"]"#)
        )
    }

    // MARK: Broken ones

    private static let broken: [(marked: String, what: String)] = [
        ("{\n  a = b;\n  c ↓d;\n}", "unexpectedCharacter: expected an equals sign, in a property-list description"),
        ("{ a = b ↓c = d; }", "unexpectedCharacter: expected a semicolon, in a property-list description"),
        ("{ a = ↓; }", "unexpectedCharacter: expected a word, in a property-list description"),
        ("{ a = ↓[1]; }", "unexpectedCharacter: expected a word, in a property-list description"),
        ("{ a = b; ↓; }", "unexpectedCharacter: expected a word, in a property-list description"),
        ("{ a = b; }\n↓x", "unexpectedCharacter: expected the end, in a property-list description"),
        (
            "{ a = ( 1 ↓2 ); }",
            "unexpectedCharacter: expected a comma or a closing bracket, in a property-list "
                + "description"
        ),
        ("{ a = ( 1, ↓); }", "unexpectedCharacter: expected a value, in a property-list description"),
        ("{ a = ( ↓, ); }", "unexpectedCharacter: expected a word, in a property-list description"),
        ("{ a = b;↓", "unexpectedEnd: the description ends where a key or a closing brace is expected"),
        ("{ a = b↓", "unexpectedEnd: the description ends where a semicolon is expected"),
        ("{ a = ↓", "unexpectedEnd: the description ends where a word is expected"),
        ("{ a = \"b;\n}\n↓", "unexpectedEnd: the description ends where a closing quote is expected"),
        ("{ a = \"b\\↓", "unexpectedEnd: the description ends where an escape is expected"),
        ("{ a = <0a↓", "unexpectedEnd: the description ends where a closing angle bracket is expected"),
        ("{ a = ( 1↓", "unexpectedEnd: the description ends where a comma or a closing bracket is expected"),
        ("{ a = ( 1,↓", "unexpectedEnd: the description ends where a word is expected"),
        ("{ a = \"↓\\U12G4\"; }", "invalidEscape: \\U needs four hexadecimal digits"),
        ("{ a = \"↓\\U+12F\"; }", "invalidEscape: \\U needs four hexadecimal digits"),
        ("{ a = \"↓\\U12", "invalidEscape: \\U needs four hexadecimal digits"),
        // What is wrong with the payload itself is found where it stands in the description.
        (
            "{\n  a = \"\\U00e9\";\n  \"\\U00e9\" = c;\n  ↓a = d;\n}", "duplicateKey: duplicate key; send it once"
        ),
    ]

    @Test("a broken description is an error with line and column", arguments: broken.indices)
    func brokenOnes(index: Int) async throws {
        let (marked, what) = Self.broken[index]
        let halves = marked.split(separator: "↓", omittingEmptySubsequences: false).map(String.init)
        let run = try await ToolRun("inspect", file: halves.joined())
        let lines = halves[0].split(separator: "\n", omittingEmptySubsequences: false)
        #expect(run.code == .failed && run.output.isEmpty)
        #expect(run.errors == ["FILE:\(lines.count):\((lines.last?.utf8.count ?? 0) + 1): \(what)"])
    }

    @Test("a description nested too deeply is refused", arguments: ["{a=", "("])
    func depth(open: String) async throws {
        let run = try await ToolRun("inspect", file: "{ a = " + String(repeating: open, count: 20_000))
        #expect(run.code == .failed && run.errors.count == 1)
        #expect(run.errors.first?.contains("limitExceeded: nested deeper than 32 levels") == true)
    }

    @Test("a description with too many members is refused at the first that is too many")
    func members() async throws {
        let run = try await ToolRun("inspect", file: "{\n" + (0..<1100).map { "k\($0) = v;\n" }.joined() + "}")
        #expect(run.errors.count == 1 && run.errors.first?.hasPrefix("FILE:1026:") == true, "\(run.errors)")
        #expect(run.errors.first?.contains("limitExceeded") == true)
    }

    @Test(
        "text that is not a description keeps its JSON error",
        arguments: ["{ a : b }", "{ \"a\" \"b\" }", "{ = }", "{", "{\"a\\U0061\"}", "a = b;", "( a )", "{ 'a' = b; }"])
    func noDescription(text: String) async throws {
        let run = try await ToolRun("inspect", file: text)
        #expect(run.code == .failed && run.errors.count == 1)
        #expect(run.errors.first?.hasPrefix("FILE:1:") == true)
        #expect(
            run.errors.first?.contains("property-list") == false && run.errors.first?.contains("description") == false)
    }
}
