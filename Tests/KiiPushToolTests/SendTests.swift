import KiiPush
import Testing

@testable import KiiPushAgent
@testable import kiipush

@Suite("kiipush send")
struct SendTests {
    private static let alertOnly = #"""
        {"apns":{"enabled":true,"alert":{"body":"short msg only!"}},"gcm":{"enabled":false},"mqtt":{"enabled":false}}
        """#
    private static let options = [
        "--topic", "kiicloud://9a2385ce/users/e26ad504-8100-4056-b3d3-xxxxxxxxxxxx/topics/MyTopic", "--as",
        "user:e26ad504-8100-4056-b3d3-xxxxxxxxxxxx", "--at", "1373623307000",
    ]

    private func send(_ body: String, _ options: [String] = Self.options, json: Bool = true) async throws -> ToolRun {
        let file = try TemporaryFile(body, name: "message.json")
        let format = json ? ["--format", "json"] : []
        return await ToolRun(["send", "--dry-run", "--message", file.path] + options + format)
    }

    @Test("the guide's message is one line, with its payload, its size and what each suppression saves")
    func documented() async throws {
        let run = try await send(Self.alertOnly)
        #expect(run.code == .fine && run.errors.isEmpty)
        #expect(
            run.output == [
                #"{"network":"apns","payload":{"aps":{"alert":{"body":"short msg only!"}},"s":"e26ad504-8100-4056-b3d3-xxxxxxxxxxxx","sa":"9a2385ce","st":"APP_AND_USER","su":"e26ad504-8100-4056-b3d3-xxxxxxxxxxxx","to":"MyTopic","w":1373623307000},"bytes":200,"limit":2048,"saved":{"sendSender":43,"sendObjectScope":80,"sendTopicID":15,"sendWhen":18,"sendAppID":0,"sendOrigin":0},"problems":[],"warnings":[]}"#
            ])
    }

    @Test("each line's payload is what inspect reads", arguments: ["apns", "fcm", "jpush", "mqtt"])
    func inspected(network: String) async throws {
        let run = try await send(#"{"data":{"text":"hi","n":5},"apns":{},"fcm":{},"jpush":{},"mqtt":{}}"#)
        #expect(run.code == .fine && run.output.count == 4)
        let line = try #require(run.output.first { $0.hasPrefix(#"{"network":"\#(network)","#) })
        let rest = try #require(line.split(separator: #""payload":"#).last?.split(separator: #","bytes""#))
        let payload = String(rest[0])
        let report = try await ToolRun.inspect(payload, "--transport", network, "--strict")
        #expect(report.contains(#""kind":"pushToUser""#) && report.contains(#""name":"MyTopic""#))
        #expect(report.contains(#""data":{"text":"hi","n":"# + (network == "fcm" ? #""5""# : "5") + "}"))
        #expect(line.contains(#""bytes":\#(payload.utf8.count),"#))
    }

    @Test("a problem makes the exit code 1, and is told on both outputs")
    func problems() async throws {
        let run = try await send(#"{"data":{"x":{"y":1}},"mqtt":{}}"#)
        #expect(run.code == .failed && run.errors.count == 1)
        #expect(run.errors.first?.contains("message.json: problem: data.x: nestedValue: ") == true)
        #expect(run.output.first?.contains(#""problems":[{"code":"nestedValue","path":"data.x","message":""#) == true)
    }

    @Test("a message to no network is one line of nulls with the problem")
    func noNetwork() async throws {
        let off = #"{"apns":{"enabled":false},"fcm":{"enabled":false},"mqtt":{"enabled":false}}"#
        let run = try await send(off)
        #expect(run.code == .failed && run.output.count == 1)
        #expect(run.output.first?.hasPrefix(#"{"network":null,"payload":null,"bytes":null,"limit":null,"#) == true)
        #expect(run.output.first?.contains(#"[{"code":"noNetwork","path":"","message":"#) == true)
        #expect(try await send(off, json: false).output == ["goes to no network"])
    }

    @Test("a warning stands in its own list, and the message can be sent all the same")
    func warnings() async throws {
        let run = try await send(#"{"sendTopicID":false,"apns":{}}"#)
        #expect(run.code == .fine && run.errors.isEmpty)
        #expect(run.output.first?.contains(#""problems":[],"warnings":[{"code":"namesNoTopic","#) == true)
        let text = try await send(#"{"sendTopicID":false,"apns":{}}"#, json: false)
        #expect(text.code == .fine && text.errors.first?.contains("warning: apns: sendTopicID: namesNoTopic: ") == true)
    }

    @Test("without the app's id a word as long stands in its place, which is told")
    func unknownApp() async throws {
        let options = ["--topic", "kiicloud://users/U/topics/t", "--as", "user:U", "--at", "1"]
        let run = try await send(Self.alertOnly, options)
        #expect(run.code == .fine && run.output.first?.contains(#""sa":"<app id>""#) == true)
        #expect(run.output.first?.contains(#""warnings":[{"code":"appUnknown","#) == true)
        let named = try await send(Self.alertOnly, options + ["--app", "0123abcd"])
        #expect(named.output.first?.contains(#""sa":"0123abcd""#) == true && named.errors.isEmpty)
    }

    @Test("people get a table with a column for each network, and the payloads")
    func table() async throws {
        let run = try await send(#"{"data":{"text":"hi"},"apns":{},"jpush":{}}"#, json: false)
        #expect(run.code == .fine && run.errors.isEmpty)
        #expect(
            run.output.prefix(4) == [
                "                                   apns    jpush",
                "bytes                               178      222",
                "limit                             2,048        -",
                "left                              1,870        -",
            ], "\(run.output)")
        #expect(run.output.contains("saved without sendSender             43       48"))
        #expect(run.output.contains("apns:"))
    }

    @Test("a message that cannot be read is told with its place")
    func unreadable() async throws {
        let run = try await send("{\n  \"sendSendr\": true}")
        #expect(run.code == .failed && run.errors.first?.contains("message.json:2:3: sendSendr: unknown key") == true)
        #expect(run.output.first?.hasPrefix(#"{"error":{"path":"sendSendr","offset":4,"message":"#) == true)
        let none = await ToolRun(["send", "--dry-run", "--message", "/nowhere/at/all"] + Self.options)
        #expect(none.code == .failed && none.errors.first?.contains("cannot be read") == true)
        let body = await ToolRun(["send", "--dry-run", "--message", #"{"data":{}}"#] + Self.options)
        #expect(body.errors == ["kiipush send: a message itself goes to standard input, as --message -"])
        let large = try await send(String(repeating: " ", count: 70_000))
        #expect(large.code == .failed && large.errors.first?.contains("larger than 65536 bytes") == true)
    }

    @Test("a message may come from standard input")
    func standardInput() throws {
        let file = try TemporaryFile(Self.alertOnly)
        let run = try ChildRun(
            ["send", "--dry-run", "--message", "-", "--format", "json"] + Self.options, input: file.path)
        #expect(run.code == 0 && run.output.hasPrefix(#"{"network":"apns","#) && run.errors.isEmpty)
    }

    @Test(
        "without --dry-run an account is needed, and a build that can send",
        arguments: [[], ["--topic", "kiicloud://topics/t", "--as", "user:U", "--message", "-"]])
    func accountMissing(arguments: [String]) async {
        let run = await ToolRun(["send"] + arguments)
        #expect(run.code == .usage && run.output.isEmpty && run.errors.count == 1)
        let what =
            CloudConnection.isBuilt
            ? (arguments.isEmpty ? "--topic is missing" : "--account is missing")
            : "build it with the trait HTTP (Debian's libcurl4-openssl-dev): swift build --traits HTTP, or add --dry-run"
        #expect(run.errors.first?.contains(what) == true, "\(run.errors)")
    }
}
