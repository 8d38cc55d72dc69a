import KiiPush
import Testing

@testable import kiipush
@testable import KiiPushAgent

/// `kiipush inspect` on the payloads of Kii's neighbours.
struct InspectFormatsTests {
    @Test("a command is reported key for key, its actions as they were sent")
    func command() async throws {
        let line = try await ToolRun.inspect(
            """
            {"schema":"Lamp","schemaVersion":2,"issuer":"user:u-1","commandID":"c-1",
             "actions":[ {"turnPower":{"power":true}} , {"setColor":[0,128,1.50]} ]}
            """)
        for part in [
            #""kind":"directPush","certainty":"certain","dialect":"thingIF","evidence":["commandID","actions"]"#,
            #""conflicts":[],"appID":null,"origin":null,"event":null,"scope":null"#,
            #""command":{"id":"c-1","issuer":"user:u-1","schema":"Lamp","#
                + #""actions":[{"turnPower":{"power":true}},{"setColor":[0,128,1.50]}]},"data":{"schema":"Lamp","#,
            #""fields":{},"dedupe":{"#, #""strength":"strong""#,
        ] {
            #expect(line.contains(part), "\(part) is missing in \(line)")
        }
        let traits = try await ToolRun.inspect(#"{"commandID":7,"actions":[{"Air":[{"on":true},{"temp":25}]}]}"#)
        #expect(
            traits.contains(
                #""command":{"id":"7","issuer":null,"schema":null,"actions":[{"Air":[{"on":true},{"temp":25}]}]},"data":{"#
            ))
    }

    @Test("what only resembles a command has none, and is likely a Direct Push")
    func noCommand() async throws {
        for payload in [#"{"actions":[{"a":[{"x":1}]}]}"#, #"{"commandID":"c","actions":"[]"}"#, #"{"commandID":"c"}"#]
        {
            let line = try await ToolRun.inspect(payload)
            #expect(line.contains(#""command":null"#) && line.contains(#""certainty":"likely","dialect":"long""#))
        }
    }

    @Test("a QuickBlox payload, stated or by its marks")
    func quickBlox() async throws {
        let payload = #"{"message":"Hi+Bob","user_id":"234","sender":"x","collapse_key":"event17","from":"7"}"#
        for line in [
            try await ToolRun.inspect(payload), try await ToolRun.inspect(payload, "--transport", "quickblox"),
        ] {
            #expect(line.contains(#""kind":"directPush","certainty":"certain","dialect":"foreign""#))
            #expect(line.contains(#""evidence":["collapse_key"]"#) && line.contains(#""sender":null"#))
            #expect(line.contains(#""alert":{"title":null,"subtitle":null,"body":"Hi Bob"}"#))
            #expect(line.contains(#""data":{"message":"Hi+Bob","user_id":"234","sender":"x"},"fields":{}"#))
        }
        let stated = try await ToolRun.inspect(#"{"aps":{"alert":"x"},"bi":"b"}"#, "--transport", "quickblox")
        #expect(stated.contains(#""kind":"directPush","certainty":"certain","dialect":"foreign","evidence":[]"#))
        #expect(stated.contains(#""data":{"bi":"b"},"fields":{}"#))
    }

    @Test("what a QuickBlox sender writes is read where QuickBlox is stated, and its errors have a place")
    func quickBloxEvent() async throws {
        let event = "event.message=data.message=SStsb3ZlK00lMjZNJTI3cyUyMStFc3BlY2lhbGx5K3JlZCtvbmUlMjE="
        let line = try await ToolRun.inspect(event, "--transport", "quickblox")
        #expect(line.contains(#""body":"I love M&M's! Especially red one!""#))
        let run = try await ToolRun(
            "inspect", "--transport", "quickblox",
            file: "event.message=" + String(repeating: "c29tZXZhbHVlMQ", count: 5))
        #expect(run.code == .failed)
        #expect(
            run.errors == [
                "FILE:1:85: badEncoding: quickblox: Base64 comes in groups of four characters; this text has "
                    + "70, and 0 of padding"
            ])
    }

    @Test("JPush's envelope and FCM's are opened")
    func envelopes() async throws {
        let jpush = try await ToolRun.inspect(
            #"{"cn.jpush.android.MESSAGE":"{\"topic\":\"t\"}","cn.jpush.android.MSG_ID":"1"}"#)
        #expect(jpush.contains(#""kind":"pushToUser","certainty":"certain","dialect":"jpush","evidence":["topic"]"#))
        #expect(jpush.contains(#""data":{},"fields":{"topic":"t"}"#) && jpush.contains(#""strength":"strong""#))
        let fcm = try await ToolRun.inspect(
            #"{"message":{"token":"x","data":{"topic":"t","n":"1"}}}"#, "--transport", "fcm")
        #expect(fcm.contains(#""kind":"pushToUser","certainty":"certain","dialect":"long","evidence":["topic"]"#))
        #expect(fcm.contains(#""data":{"n":"1"},"fields":{"topic":"t"}"#))
    }

    @Test("a reply of the API over MQTT is no push, and no broken JSON", arguments: ["\r\n", "\n"])
    func apiReply(lineEnd: String) async throws {
        let lines = ["HTTP/1.1 200 OK", "X-Kii-RequestID: r-1", "", #"{"commandID":"c-1"}"#]
        let run = try await ToolRun(
            "inspect", "--format", "json", "--transport", "mqtt", file: lines.joined(separator: lineEnd))
        #expect(run.code == .failed && run.output.count == 1)
        #expect(
            run.output.first?.contains(#""error":{"code":"notAPush","offset":0,"message":"a reply of Kii's API"#)
                == true)
        #expect(run.errors.first?.hasPrefix("FILE:1:1: notAPush: ") == true)
    }
}

/// The traps of JSON, through the tool: whoever checks a payload with it must hear what the receiver would say.
struct InspectTrapsTests {
    private static let traps: [(bytes: [UInt8], code: String, offset: Int)] = [
        (Array(#"{"a":1,}"#.utf8), "unexpectedCharacter", 7), (Array(#"{"a":01}"#.utf8), "invalidNumber", 6),
        (Array(#"{"a":1.}"#.utf8), "invalidNumber", 7), (Array(#"{"a":.5}"#.utf8), "unexpectedCharacter", 5),
        (Array(#"{"a":+1}"#.utf8), "unexpectedCharacter", 5), (Array(#"{"a":NaN}"#.utf8), "unexpectedCharacter", 5),
        (Array(#"{"a":"\ud800"}"#.utf8), "invalidEscape", 6),
        (Array(#"{"a":"\udc00\ud800"}"#.utf8), "invalidEscape", 6),
        (Array(#"{"a":"\x41"}"#.utf8), "invalidEscape", 6), (Array("{\"a\":\"\t\"}".utf8), "unexpectedCharacter", 6),
        (Array("{\"a\":\"\0\"}".utf8), "unexpectedCharacter", 6), (Array(#"{'a':1}"#.utf8), "unexpectedCharacter", 1),
        (Array(#"{"a":1}//"#.utf8), "unexpectedCharacter", 7), (Array(#"{"a":1}{}"#.utf8), "unexpectedCharacter", 7),
        (Array("\u{FEFF}{}".utf8), "unexpectedCharacter", 0), ([0x7B, 0x22, 0xC0, 0xAF, 0x22], "invalidUTF8", 2),
        ([0x7B, 0x22, 0xED, 0xA0, 0x80, 0x22], "invalidUTF8", 2), (Array(#"{"a":1,"a":2}"#.utf8), "duplicateKey", 7),
        (Array(#"{"a":1,"\u0061":2}"#.utf8), "duplicateKey", 7), (Array("  ".utf8), "empty", 0), ([], "empty", 0),
        (Array("[1,2]".utf8), "notAnObject", 0), (Array(#""text""#.utf8), "notAnObject", 0),
        (Array(#"{"a":tru"#.utf8), "unexpectedEnd", 8), ([UInt8](repeating: 0x5B, count: 50_000), "limitExceeded", 32),
        ([UInt8](repeating: 0x5B, count: 100_000), "limitExceeded", 65_536),
    ]

    @Test("a trap is refused with its code and its byte, as text and as JSON", arguments: traps.indices)
    func refused(index: Int) async throws {
        let (bytes, code, offset) = Self.traps[index]
        let file = try TemporaryFile(bytes)
        let run = await ToolRun("inspect", "--format", "json", file.path)
        #expect(run.code == .failed && run.output.count == 1 && run.errors.count == 1)
        #expect(
            run.output.first?.contains("\"error\":{\"code\":\"\(code)\",\"offset\":\(offset),") == true, "\(run.output)"
        )
        #expect(run.errors.first?.contains(": \(code): ") == true)
        let text = await ToolRun("inspect", file.path)
        #expect(text.code == .failed && text.output.isEmpty && text.errors == run.errors)
    }
}
