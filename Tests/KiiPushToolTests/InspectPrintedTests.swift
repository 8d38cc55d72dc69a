import KiiPush
import KiiPushSystem
import Testing

@testable import kiipush
@testable import KiiPushAgent

struct InspectPrintedTests {
    private static let push =
        #"{"aps":{"alert":{"body":"hey","title":"Hello!"},"sound":"default"},"sa":"0123abcd","st":"APP_AND_USER","#
        + #""su":"u-1","to":"doors","w":1403844866395}"#

    /// Everything but the source and the keys for deduplication, which depend on types.
    private func report(_ text: String, _ options: String...) async throws -> Substring {
        try await ToolRun.inspect(text, options).drop { $0 != "," }
    }

    private static let list = """
        {
            alert =     {
                body = hey;
                title = "Hello!";
            };
            sound = default;
        }
        """

    @Test(
        "Swift's description of a dictionary is read, with and without quotes, in options, after a log's prefix",
        arguments: [
            #"[AnyHashable("aps"): \#(list), AnyHashable("sa"): 0123abcd, AnyHashable("st"): APP_AND_USER, "#
                + #"AnyHashable("su"): u-1, AnyHashable("to"): doors, AnyHashable("w"): 1403844866395]"#,
            #"["aps": ["alert": ["body": "hey", "title": "Hello!"], "sound": "default"], "sa": "0123abcd", "#
                + #""st": "APP_AND_USER", "su": "u-1", "to": "doors", "w": 1403844866395]"#,
            #"Optional([AnyHashable("aps"): Optional(["alert": ["body": hey, "title": Hello!], "sound": default]), "#
                + #"AnyHashable("sa"): Optional("0123abcd"), AnyHashable("st"): APP_AND_USER, "#
                + #"AnyHashable("su"): Optional(u-1), AnyHashable("to"): doors, AnyHashable("w"): 1403844866395])"#,
        ])
    func swift(text: String) async throws {
        let expected = try await report(Self.push, "--transport", "apns")
        #expect(try await report(text) == expected)
        #expect(try await report("2026-11-26 02:00:01 App[12:34] userInfo: \(text)\n") == expected)
    }

    @Test(
        "values of Swift's descriptions are read as what they look like",
        arguments: [
            (#"["a": "1", "b": 1, "c": true, "d": nil, "e": -1.5]"#, #"{"a":"1","b":1,"c":true,"d":null,"e":-1.5}"#),
            (#"["a": [1, 2], "b": [], "c": [:], "d": ["x", y z]]"#, #"{"a":[1,2],"b":[],"c":{},"d":["x","y z"]}"#),
            (
                #"[AnyHashable("a"): hello, world, AnyHashable("b"): [x] and (y)]"#,
                #"{"a":"hello, world","b":"[x] and (y)"}"#
            ),
            (
                #"["a": "q\" \u{e9}\n\\", "b": {"x":1}, "c": Optional(Optional("z"))]"#,
                #"{"a":"q\" é\n\\","b":"{\"x\":1}","c":"z"}"#
            ),
            ("[AnyHashable(\"a\"): (\n    1,\n    b\n), AnyHashable(7): <null>]", #"{"a":[1,"b"],"7":null}"#),
            (#"[AnyHashable("a"): {length = 2, bytes = 0x0a0b}]"#, #"{"a":"{length = 2, bytes = 0x0a0b}"}"#),
        ])
    func swiftValues(text: String, data: String) async throws {
        #expect(try await ToolRun.inspect(text, "--transport", "mqtt").contains("\"data\":\(data),\"fields\""))
    }

    @Test(
        "bytes in hexadecimal, in dumps, in Base64 and as numbers are read",
        arguments: [
            "<7b22746f 70696322 3a227422 7d>", "{length = 13, bytes = 0x7b22746f706963223a2274227d}",
            "Received: <7b22746f 70696322 3a227422 7d>\n",
            "Optional({length = 13, bytes = 0x7b22746f 706963223a2274227d })",
            "7b22746f706963223a2274227d", "0x7B22746F706963223A2274227D\n", "7b 22 74 6f 70 69 63 22 3a 22 74 22 7d",
            "[123, 34, 116, 111, 112, 105, 99, 34, 58, 34, 116, 34, 125]", "eyJ0b3BpYyI6\nInQifQ==\n",
            "00000000: 7b22 746f 7069 6322  {\"topic\"\n00000008: 3a22 7422 7d         :\"t\"}\n",
            "00000000  7b 22 74 6f 70  69 63 22  |{\"topic\"|\n00000008  3a 22 74 22 7d  |:\"t\"}|\n0000000d\n",
            "000000 7b 22 74 6f 70 69 63 22\n000008 3a 22 74 22 7d\n00000d\n",
        ])
    func bytes(text: String) async throws { #expect(try await report(text) == (try await report(#"{"topic":"t"}"#))) }

    @Test(
        "JSON in quotes is read",
        arguments: [
            #""{\"topic\":\"t, u=v\",\"x\":\"1\"}""#, #"Optional("{\"topic\":\"t, u=v\",\"x\":\"1\"}")"#,
        ])
    func quoted(text: String) async throws {
        #expect(try await report(text) == (try await report(#"{"topic":"t, u=v","x":"1"}"#)))
    }

    @Test(
        "bytes of Python and in a shell's quotes are read, with escapes and a log's prefix",
        arguments: [
            (#"b'{"topic": "t"}'"#, #"{"topic":"t"}"#),
            (#"lab/door b'{"topic":"t"}'"# + "\n", #"{"topic":"t"}"#),
            (#"INFO:root:(b'{"topic":"t"}',)"#, #"{"topic":"t"}"#),
            (#"b'\r\n{\n\t"topic":"caf\xc3\xa9 \'\\"\\\\"}\n'"#, #"{"topic":"café '\"\\"}"#),
            (#"b"{\x22topic\x22:\"it's\"}""#, #"{"topic":"it's"}"#),
            (#"'{"topic":"a\"b"}'"#, #"{"topic":"a\"b"}"#), (#"$'{"topic":"it\'s"}'"#, #"{"topic":"it's"}"#),
        ])
    func python(text: String, payload: String) async throws {
        #expect(try await report(text) == (try await report(payload)))
    }

    @Test("a map of Java is read, and a comma in a value does not end it")
    func javaMap() async throws {
        let expected = try await report(#"{"topic":"a, b","objectScopeType":"APP","x":null,"when":"5"}"#)
        for map in [
            "{topic=a, b, objectScopeType=APP, x=null, when=5}",
            "Bundle[{topic=a, b, objectScopeType=APP, x=null, when=5}]",
        ] {
            #expect(try await report("D/Push: \(map)\n") == expected)
        }
    }

    @Test("octal escapes are bytes of UTF-8, and a printed null is null")
    func octal() async throws {
        #expect(
            try await ToolRun.inspect(
                #"{ a = "caf\303\251 \342\202\254"; b = "<null>"; c = "\0101"; }"#, "--transport", "mqtt"
            )
            .contains(#""data":{"a":"café €","b":null,"c":"\u00081"},"#))
        let run = try await ToolRun("inspect", file: #"{ a = "x\351"; }"#)
        #expect(run.errors == ["FILE:1:9: invalidEscape: octal escapes whose bytes are not UTF-8"])
    }

    @Test(
        "what cannot be read is named, and not repeated",
        arguments: [
            ("\u{25BF} 1 element\n  \u{25BF} 0 : 2 elements\n    - key : \"secret\"", "a debugger's view"),
            (
                "([String : Any]) $R0 = 1 key/value pairs {\n  [0] = (key = \"secret\", value = \"x\")\n}",
                "a debugger's view"
            ),
            ("Optional(40 bytes)", "only the size"), ("userInfo data: 40 bytes", "only the size"),
            (#"b'{"secret": "x"#, "do not end with their quote"), (#"b'{"secret": "\q"}'"#, "do not end"),
            ("b\"{'secret': 'x'}\"", "json.dumps"), ("{'p': b'{}'}", "json.dumps"), ("b'x'", "unexpectedCharacter"),
            ("{'secret': 'x'}", "json.dumps"), ("{ aps: { alert: 'secret' } }", "JSON.stringify"),
            ("{aps: {alert: secret}, to: t}", "jsonEncode"),
            ("{length = 700, bytes = 0x7b227365 6372 ... 3a317d}", "bytes are left out here"),
            (#"{"a":1}"# + "\n" + #"{"a":2}"#, "use --lines"),
            (#"[AnyHashable("secret") x]"#, "unexpectedCharacter"),
        ])
    func named(text: String, what: String) async throws {
        let run = try await ToolRun("inspect", file: text)
        #expect(run.code == .failed && run.output.isEmpty && run.errors.count == 1)
        #expect(
            run.errors.first?.contains(what) == true && run.errors.first?.contains("secret") == false, "\(run.errors)")
    }

    @Test("an error in what is printed has its place there")
    func places() async throws {
        for (text, place) in [
            (#"["a": "b"#, "1:9: unexpectedEnd: the description ends where a closing quote is expected"),
            (#"[AnyHashable("a"): 1, AnyHashable("a"): 2]"#, "1:23: duplicateKey: duplicate key; send it once"),
            ("<7b7d7d>", "1:2: unexpectedCharacter: in what is printed here, at byte 2: "),
        ] {
            let run = try await ToolRun("inspect", file: text)
            #expect(
                run.errors.count == 1 && run.errors.first?.hasPrefix("FILE:\(place)") == true, "\(run.errors)")
        }
    }

    @Test(
        "hostile descriptions are refused in a moment", arguments: [#", ""#, "]", "[", #"["#, ", AnyHashable(", "( "])
    func hostile(part: String) async throws {
        let text = #"["a": x"# + String(repeating: part, count: 60_000 / part.utf8.count)
        let start = ContinuousClock.now
        #expect(try await ToolRun("inspect", file: text).code == .failed)
        #expect(ContinuousClock.now - start < .seconds(300))
    }

    // MARK: Captured lines

    @Test("lines of a capture and of tap are read as their payloads, with their transport")
    func recorded() async throws {
        let payload = #"{"aps":{},"bi":"b","st":"APP","w":5}"#
        let expected = try await report(payload, "--transport", "apns")
        let raw = payload.quotedAsJSON
        let tapped = TappedMessage(trace: try await Self.trace(payload), time: .now)
        for line in [
            #"{"at":"2s","transport":"apns","payload":\#(payload)}"#, #"{"at":"0s","transport":"apns","raw":\#(raw)}"#,
            tapped.line(.json, app: nil),
        ] {
            #expect(try await report(line) == expected, "\(line)")
            let file = try TemporaryFile("\(line)\n\(line)\n")
            let run = await ToolRun("inspect", "--lines", file.path)
            #expect(run.code == .fine && run.output.filter { $0.contains("Push to App, certain") }.count == 2)
            let whole = await ToolRun("inspect", file.path)
            #expect(
                whole.code == .failed && whole.errors.first?.hasSuffix("if each line is a payload, use --lines") == true
            )
            #expect(try await report(line, "--transport", "mqtt").contains(#""kind":"directPush""#))
        }
    }

    @Test("errors in captured payloads have their place in the line")
    func recordedErrors() async throws {
        for (line, error) in [
            (#"{"at":"2s","payload":{"a":1,"a":2}}"#, "1:29: duplicateKey: duplicate key; send it once"),
            (#"{"at":"2s","transport":"mqtt","raw":"{\"a\":"}"#, "1:1: unexpectedEnd: in 'raw', at byte 5: "),
            (
                #"{"source":"mqtt","error":{"code":"empty","offset":0,"message":"there is nothing to read"},"outcome":"undecodable","routes":[]}"#,
                "1:1: empty: there is nothing to read"
            ),
        ] {
            let run = try await ToolRun("inspect", file: line)
            #expect(
                run.errors.count == 1 && run.errors.first?.hasPrefix("FILE:\(error)") == true, "\(run.errors)")
        }
        // A sender's own data with such keys stays data.
        for own in [
            #"{"raw":"text"}"#, #"{"payload":{"x":1}}"#, #"{"at":"home","payload":{"x":1}}"#, #"{"outcome":"won"}"#,
        ] {
            #expect(try await report(own).contains(#""data":\#(own)"#))
        }
    }

    private static func trace(_ payload: String) async throws -> Trace {
        let receiver = PushReceiver()
        receiver.onAny { _, _ in }
        let (stream, traces) = AsyncStream.makeStream(of: Trace.self)
        let listening = receiver.onTrace { traces.yield($0) }
        _ = await receiver.receive(RawPayload(payload, transport: .apns))
        withExtendedLifetime(listening) { traces.finish() }
        var iterator = stream.makeAsyncIterator()
        return try #require(await iterator.next())
    }

    // MARK: What the report contains

    @Test("the text shows every property that the payload has")
    func complete() async throws {
        let file = try TemporaryFile(
            #"{"aps":{"alert":{"title":"T","loc-key":"K","loc-args":["x"]},"badge":5,"sound":"s.wav","category":"C","#
                + #""thread-id":"th","content-available":1,"mutable-content":1,"interruption-level":"active"},"#
                + #""bi":"b","oi":"o","o":"EVENT","a":"0123abcd","st":"APP","su":"U"}"#)
        let run = await ToolRun("inspect", file.path)
        for line in [
            "  format    apns", "  origin    EVENT", "  app       0123abcd", "  badge     5", "  sound     s.wav",
            "  category  C", "  thread    th", "  mutable   an extension may change it first",
            "  wakes     it wakes the app", #"  aps       interruption-level = "active""#,
            #"  aps       alert.loc-args = ["x"]"#, "  alert     T / K", "  unused    su: the scope is of another type",
        ] {
            #expect(run.output.contains(line), "\(line) is missing in \(run.output)")
        }
        let json = await ToolRun("inspect", "--format", "json", file.path)
        #expect(json.output.first?.contains(#""unused":["objectScopeUserID"],"hints":[]}"#) == true)
        #expect(json.output.first?.contains(#""interruption-level":"active"},"completedCommandID":null"#) == true)
        // As in the guide's payload, whose app is only in the scope.
        #expect(
            try await ToolRun.inspect(#"{"aps":{},"bi":"b","sa":"0123abcd","st":"APP"}"#).contains(
                #""appID":"0123abcd""#))
    }

    @Test("commands and QuickBlox pushes are shown with what they say")
    func bodies() async throws {
        let command = #"{"commandID":"c-1","issuer":"user:u","actions":[{"Air":[{"on":true},{"temp":25}]}]}"#
        let lines = try await ToolRun("inspect", file: command).output
        #expect(lines.contains("  command   c-1, issued by user:u") && lines.contains("  action    Air: temp = 25"))
        let call =
            #"{"message":"Bob","ios_voip":"1","VOIPCall":"1","sessionID":"s-1","opponentsIDs":"1,2","conferenceType":"1"}"#
        let shown = try await ToolRun("inspect", file: call).output
        #expect(
            shown.contains("  voip      it wakes the app for a call") && shown.contains("  call      s-1, with video"))
        #expect(shown.contains("  with      1, 2") && !shown.contains { $0.contains("ios_voip = ") })
        #expect(
            try await ToolRun.inspect(#"{"dialog_id":"d","message":"a+b"}"#).contains(
                #""quickBlox":{"text":"a b","rawText":"a+b","userID":null,"dialogID":"d","voIP":false,"call":null}"#))
    }

    @Test("the headline always ends with a reason")
    func reasons() async throws {
        for (payload, transport, reason) in [
            (#"{"message":"hi"}"#, "quickblox", "certain: a format claims it by its transport or its bytes"),
            (#"{"x":{"bucketID":"b"}}"#, "mqtt", "likely: none of Kii's keys are where they are read"),
            (
                #"{"objectScopeType":"APP_AND_USER"}"#, "mqtt",
                "likely: the payload has the scope of a topic (objectScopeType), but names none"
            ),
        ] {
            let run = try await ToolRun("inspect", "--transport", transport, file: payload)
            #expect(run.output.first?.hasSuffix(reason) == true, "\(run.output)")
        }
    }

    @Test("a time in another unit is pointed out")
    func units() async throws {
        let run = try await ToolRun("inspect", file: #"{"topic":"t","when":1795641000}"#)
        #expect(
            run.output.contains("  sent      1970-01-21T18:47:21.000Z (1795641000), probably seconds, not milliseconds")
        )
        #expect(run.output.contains("  hint      'when' is probably in seconds; it is due in milliseconds since 1970"))
    }

    @Test("the first line of JSON over several lines gets a hint with --lines")
    func prettyPrinted() async throws {
        let run = try await ToolRun("inspect", "--lines", file: "{\n  \"topic\": \"t\"\n}\n")
        #expect(
            run.code == .failed
                && run.errors.first?.hasSuffix("if a payload takes several lines, leave out --lines") == true)
    }
}
