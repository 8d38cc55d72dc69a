import KiiPush
import KiiPushTesting
import Testing

@testable import kiipush
@testable import KiiPushAgent

@Suite("kiipush inspect")
struct InspectTests {
    @Test("a Push to App over MQTT is reported key for key")
    func pushToApp() async throws {
        let run = try await ToolRun(
            "inspect", "--format", "json",
            file: """
                {"modifiedAt":1463364001875,"origin":"EVENT","objectScopeType":"APP_AND_USER","bucketID":"b","bucketType":"rw",
                 "type":"DATA_OBJECT_CREATED","when":"1463364001908","sender":"u-1","appID":"0123abcd","objectID":"o-1",
                 "sourceURI":"kiicloud://users/u-1/buckets/b/objects/o-1","objectScopeAppID":"0123abcd",
                 "objectScopeUserID":"u-1","mine":[1,{"x":"\\u00e9"}],"empty":"","from":"761750217637"}
                """)
        #expect(run.code == .fine && run.errors.isEmpty)
        let key = try #require(run.output.first?.split(separator: #""dedupe":{"key":""#).last?.prefix(32))
        #expect(key.allSatisfy { $0.isHexDigit })
        #expect(
            run.output == [
                """
                {"source":"FILE","kind":"pushToApp","certainty":"certain","dialect":"long",\
                "evidence":["origin","bucketID","bucketType","sourceURI"],"conflicts":[],"appID":"0123abcd",\
                "origin":"EVENT","event":"DATA_OBJECT_CREATED","scope":{"type":"APP_AND_USER","id":"u-1"},\
                "bucket":{"name":"b","type":"rw","uri":"kiicloud://users/u-1/buckets/b"},\
                "object":{"id":"o-1","uri":"kiicloud://users/u-1/buckets/b/objects/o-1"},"topic":null,\
                "sender":{"type":"user","id":"u-1"},"sentAt":1463364001908,"modifiedAt":1463364001875,"alert":null,\
                "aps":null,"silent":false,"command":null,"data":{"mine":[1,{"x":"é"}],"empty":""},\
                "fields":{"appID":"0123abcd","sender":"u-1","origin":"EVENT","when":"1463364001908",\
                "type":"DATA_OBJECT_CREATED","objectScopeAppID":"0123abcd","objectScopeUserID":"u-1",\
                "objectScopeType":"APP_AND_USER","bucketID":"b","bucketType":"rw","objectID":"o-1",\
                "modifiedAt":"1463364001875","sourceURI":"kiicloud://users/u-1/buckets/b/objects/o-1"},\
                "dedupe":{"key":"\(key)","strength":"strong"},"apple":null,"completedCommandID":null,"quickBlox":null,\
                "foreign":null,"mqtt":null,"unused":[],"hints":[]}
                """
            ])
    }

    @Test("a Push to User over APNs shows its alert and its topic")
    func pushToUser() async throws {
        let file = try TemporaryFile(
            #"{"aps":{"alert":"hi","badge":5,"sound":"a.wav","mutable-content":1},"s":"th.1","sa":"1","st":"APP","to":"T"}"#
        )
        let line = try #require(await ToolRun("inspect", "--format=json", file.path).output.first)
        for part in [
            #""kind":"pushToUser","certainty":"certain","dialect":"apns","evidence":["to"]"#,
            #""scope":{"type":"APP","id":null},"bucket":null,"object":null"#,
            #""topic":{"name":"T","uri":"kiicloud://topics/T"},"sender":{"type":"thing","id":"th.1"}"#,
            #""alert":{"title":null,"subtitle":null,"body":"hi"}"#,
            #""aps":{"badge":5,"sound":"a.wav","category":null,"contentAvailable":false,"mutableContent":true}"#,
            #""silent":false"#, #""sentAt":null"#, #""strength":"weak""#,
        ] {
            #expect(line.contains(part), "\(part) is missing in \(line)")
        }
    }

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

    @Test("the text names the kind in Kii's words, and says why")
    func text() async throws {
        let payload =
            #"{"bucketID":"b","topic":"t","objectScopeType":"APP","when":1403844866395,"note":"\u001b[31mred\u202e"}"#
        let run = try await ToolRun("inspect", file: payload)
        #expect(run.code == .fine)
        let headline = "Push to App, ambiguous: the payload has bucketID, but there is a contradiction"
        #expect(run.output.first?.hasSuffix(headline) == true)
        #expect(run.output.contains("  conflict  topic: a topic beside what makes a Push to App"))
        #expect(run.output.contains("  sent      2014-06-27T04:54:26.395Z (1403844866395)"))
        #expect(run.output.contains(#"  data      note = "\u001b[31mred\u{202E}""#))
    }

    // MARK: What goes wrong

    @Test("a payload that cannot be read names file, line, column and code, and the next one is read as usual")
    func errors() async throws {
        let bad = try TemporaryFile("{\n  \"topic\": \"t\",\n  \"secret\": tru\n}", name: "bad.json")
        let good = try TemporaryFile(#"{"topic":"t"}"#, name: "good.json")
        let run = await ToolRun("inspect", bad.path, "/nowhere/x.json", good.path)
        #expect(run.code == .failed)
        #expect(
            run.errors == [
                "\(bad.path):3:16: unexpectedCharacter: expected true, false or null",
                "/nowhere/x.json: cannot be read: No such file or directory",
            ])
        #expect(run.output.first == "\(good.path): Push to User, certain: the payload has topic")
    }

    @Test(
        "text before a payload is pointed out, and is not read",
        arguments: [
            (#"07-21 11:07:26 D/GCM: {"topic":"t"}"#, "1:2: invalidNumber", "leave out its first 22 bytes"),
            (#"push [1:2] = {"topic":"t"}"#, "1:1: unexpectedCharacter", "leave out its first 13 bytes"),
            ("HTTP/1.1 200 OK\r\nX-Kii-RequestID: r\r\n\r\n{}", "1:1: notAPush", "only the push topic carries pushes"),
        ])
    func prefix(text: String, place: String, advice: String) async throws {
        let run = try await ToolRun("inspect", file: text)
        #expect(run.code == .failed && run.output.isEmpty && run.errors.count == 1)
        #expect(run.errors.first?.contains(":\(place): ") == true && run.errors.first?.contains(advice) == true)
    }

    @Test(
        "a payload that is not JSON is named, with what to do",
        arguments: [
            (Array("\u{FEFF}{}".utf8), "1:1: unexpectedCharacter: the payload begins with a byte order mark; send it"),
            ([0xFF, 0xFE, 0x7B, 0x00], "1:1: invalidUTF8: the payload is UTF-16; send it as UTF-8"),
            ([0x7B, 0x00, 0x22, 0x00], "1:2: unexpectedCharacter: expected a key in double quotes, not a zero byte"),
            ([0x00, 0x7B, 0x00, 0x22], "1:1: unexpectedCharacter: expected a value, not a zero byte; use UTF-8"),
            (Array("{}\u{0}".utf8), "1:3: unexpectedCharacter: expected the end of the payload, not a zero byte"),
            ([0x1F, 0x8B, 0x08], "1:1: unexpectedCharacter: the payload is compressed with gzip; send it"),
            (Array(" <html>".utf8), "1:2: unexpectedCharacter: the payload begins like HTML or XML"),
            (Array("hello".utf8), "1:1: unexpectedCharacter: the payload is not JSON; a push is a JSON object"),
            ([0x89, 0x50, 0x4E, 0x47] + Array(#"{"a":1}"#.utf8), "1:1: invalidUTF8: the payload is not JSON"),
            (Array(#"[{"a":1}]"#.utf8), "notAnObject: a push is a JSON object; if the items of this list are payloads"),
        ])
    func notJSON(bytes: [UInt8], what: String) async throws {
        let file = try TemporaryFile(bytes)
        let run = await ToolRun("inspect", file.path)
        #expect(run.code == .failed && run.errors.count == 1)
        #expect(run.errors.first?.contains(what) == true && run.errors.first?.contains("log") == false, "\(run)")
    }

    @Test("a payload given as a file name is refused with advice, and not repeated")
    func payloadAsFile() async {
        let run = await ToolRun("inspect", #"{"a":"secret"}"#)
        #expect(run.code == .failed && run.output.isEmpty)
        #expect(run.errors == ["kiipush inspect: a payload itself goes to standard input"])
    }

    @Test(
        "as JSON an error is an object too, with the code and the byte that the receiver would name",
        arguments: [
            ("[1]", "notAnObject", 0, "a push is a JSON object"), ("  ", "empty", 0, "there is nothing to read"),
            (#"{"a":1,"\u0061":2}"#, "duplicateKey", 7, "duplicate key; send it once"),
            (
                "HTTP/1.1 200 OK\r\nX-Kii-RequestID: r-1\r\n\r\n{}", "notAPush", 0,
                "a reply of Kii's API over MQTT; only the push topic carries pushes"
            ),
        ])
    func errorAsJSON(text: String, code: String, offset: Int, message: String) async throws {
        let run = try await ToolRun("inspect", "--format", "json", file: text)
        let error = #"{"code":"\#(code)","offset":\#(offset),"message":"\#(message)"}"#
        #expect(run.output == [#"{"source":"FILE","error":\#(error)}"#])
        #expect(run.errors == ["FILE:1:\(offset + 1): \(code): \(message)"] && run.code == .failed)
    }

    @Test("by lines each payload stands alone, empty lines are passed over, and a long one costs no neighbour")
    func lines() async throws {
        let long = #"{"x":""# + String(repeating: "x", count: 70_000) + #""}"#
        let run = try await ToolRun(
            "inspect", "--lines", file: "{\"topic\":\"a\"}\r\n\n{\"topic\"\n\(long)\n{\"topic\":\"b\"}")
        #expect(run.code == .failed)
        #expect(run.output.filter { !$0.hasPrefix("  ") }.map { $0.prefix(7) } == ["FILE:1:", "FILE:5:"])
        #expect(
            run.errors == [
                "FILE:3:9: unexpectedEnd: the text ends where a colon is expected; it may have been cut",
                "FILE:4:65537: limitExceeded: larger than 65536 bytes; raise the limit or send less",
            ])
    }

    @Test("--strict ends with 2 for an ambiguous payload, and an error wins over it")
    func strict() async throws {
        let ambiguous = try TemporaryFile(#"{"bucketID":"b","topic":"t"}"#)
        let run = await ToolRun("inspect", "--strict", ambiguous.path)
        #expect(run.code == .ambiguous)
        #expect(run.errors == ["\(ambiguous.path):1:1: ambiguous: topic: a topic beside what makes a Push to App"])
        #expect(await ToolRun("inspect", ambiguous.path).code == .fine)
        let bad = try TemporaryFile("{")
        #expect(await ToolRun("inspect", "--strict", ambiguous.path, bad.path).code == .failed)
        #expect(await ToolRun("inspect", "--strict", bad.path, ambiguous.path).code == .failed)
    }

    @Test("--app makes another app's payload a conflict, and stands in where a payload names none")
    func app() async throws {
        let file = try TemporaryFile(#"{"aps":{},"bi":"b","st":"APP","sa":"other","w":1}"#)
        let run = await ToolRun("inspect", "--app", "mine", "--format", "json", file.path)
        #expect(run.output.first?.contains(#""certainty":"ambiguous""#) == true)
        #expect(run.output.first?.contains(#""conflicts":["appID"]"#) == true)
        let same = await ToolRun("inspect", "--app", "other", "--format", "json", file.path)
        #expect(same.output.first?.contains(#""conflicts":[]"#) == true)
        let filled = try await ToolRun(
            "inspect", "--app", "other", "--format", "json", file: #"{"aps":{},"bi":"b","st":"APP","w":1}"#)
        let dedupe = { (run: ToolRun) in run.output.first?.split(separator: #""dedupe""#).last?.prefix(60) }
        #expect(dedupe(filled) == dedupe(same))
    }

    @Test("--version and -V print a line with the version", arguments: ["--version", "-V"])
    func version(option: String) async {
        let run = await ToolRun(option)
        #expect(run.code == .fine && run.output == ["kiipush \(Version.number)"])
        #expect(Version.number.split(separator: ".").compactMap { Int($0) }.count == 3)
    }

    @Test(
        "what a payload names without a complete scope is shown with what is missing",
        arguments: [
            (#"{"topic":"ring-front"}"#, "  topic     ring-front (no complete scope: the payload states none)"),
            (
                #"{"bucketID":"b","objectScopeType":"APP_AND_USER"}"#,
                "  bucket    b (no complete scope: the payload states APP_AND_USER, without the required id)"
            ),
            (#"{"bucketID":"b","objectID":"o"}"#, "  object    o (no complete scope: the payload states none)"),
        ])
    func placeless(payload: String, line: String) async throws {
        let run = try await ToolRun("inspect", file: payload)
        #expect(run.code == .fine && run.output.contains(line), "\(run.output)")
        #expect(try await ToolRun.inspect(payload).contains(#""topic":null"#))
    }
}
