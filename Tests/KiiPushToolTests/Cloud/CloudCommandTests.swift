#if HTTP
import Foundation
import KiiCloud
import KiiCloudTesting
import KiiPush
import KiiPushMQTT
import Testing

@testable import kiipush

/// The real program against a cloud behind a port; it runs as a process of its own.
@Suite("commands that call Kii's cloud", .timeLimit(.minutes(5)))
struct CloudCommandTests {
    private let cloud = TestCloud()
    private let server: TestCloudServer
    private let account: TemporaryFile
    private let token: Secret

    private static let bucket = KiiBucket(scope: .app, name: "settings")
    private static let topic = KiiTopic(scope: .user(KiiUser(id: "u-1")), name: "news")

    init() throws {
        server = try TestCloudServer(cloud)
        token = cloud.logIn(.user(id: "u-1"))
        account = try TemporaryFile(
            #"{"site":"http://\#(server.app.host)","app":"0123abcd","key":"key-of-the-app","token":"\#(token.revealed)"}"#,
            name: "account.json")
    }

    private func run(_ arguments: [String]) throws -> ChildRun {
        let run = try ChildRun(arguments + ["--account", account.path])
        #expect(!(run.output + run.errors).contains(token.revealed))
        #expect(cloud.violations == [])
        return run
    }

    private var client: KiiClient { KiiClient(cloud.app, transport: cloud, tokens: FixedToken(token)) }

    @Test("send sends a push, which reaches who subscribed; one with a problem is not sent")
    func send() async throws {
        defer { server.stop() }
        try await client.perform(.createTopic(Self.topic))
        try await client.perform(.subscribe(.user(KiiUser(id: "u-1")), to: .topic(Self.topic)))
        let message = try TemporaryFile(#"{"data":{"text":"hi"}}"#, name: "message.json")
        let arguments = [
            "send", "--topic", "kiicloud://users/u-1/topics/news", "--as", "user:u-1", "--message", message.path,
        ]
        let sent = try run(arguments)
        #expect(sent.code == 0 && sent.output.hasPrefix("sent push-") && sent.errors.isEmpty)
        let json = try run(arguments + ["--format", "json"])
        #expect(json.code == 0 && json.output.hasPrefix(#"{"pushMessageID":"push-"#))
        let pushes = cloud.takePushes(for: .user(KiiUser(id: "u-1")))
        #expect(pushes.count == 2 && (try? pushes.first.map { try PushMessage($0) })?.data["text"] == "hi")
        let before = cloud.requests.count
        let nested = try TemporaryFile(#"{"data":{"x":{"y":1}}}"#, name: "nested.json")
        let refused = try run(arguments.dropLast() + [nested.path])
        #expect(refused.code == 1 && refused.errors.contains("problem: data.x: nestedValue"))
        let other = try run(arguments + ["--app", "other"])
        #expect(other.code == 1 && other.errors.contains("name different apps"))
        #expect(cloud.requests.count == before)
        let missing = try run(arguments.map { $0.hasSuffix("news") ? "kiicloud://users/u-1/topics/none" : $0 })
        #expect(missing.code == 1 && missing.errors.contains("TOPIC_NOT_FOUND (status 404)"))
    }

    @Test("refresh shows what there is now; what is gone is told")
    func refresh() async throws {
        defer { server.stop() }
        let object = KiiObject(bucket: Self.bucket, id: "o-1")
        try await client.write(object, .create(["temp": 21, "text": "a\nb"]))
        cloud.set(.user(KiiUser(id: "u-1")), ["loginName": "ann"])
        let text = try run(["refresh", "kiicloud://buckets/settings/objects/o-1"])
        #expect(text.code == 0 && text.output == "temp: 21\ntext: \"a\\nb\"\nversion 1\n", "\(text.output)")
        let json = try run(["refresh", "kiicloud://buckets/settings/objects/o-1", "--format", "json"])
        let start = #"{"uri":"kiicloud://buckets/settings/objects/o-1","exists":true,"version":"1","createdAt":1700"#
        #expect(json.output.hasPrefix(start) && json.output.hasSuffix(#""fields":{"temp":21,"text":"a\nb"}}"# + "\n"))
        let user = try run(["refresh", "kiicloud://0123abcd/users/u-1"])
        #expect(user.code == 0 && user.output == "loginName: \"ann\"\n")
        let gone = try run(["refresh", "kiicloud://buckets/settings/objects/none"])
        #expect(gone.code == 1 && gone.output.isEmpty && gone.errors == "kiipush refresh: there is none\n")
        let goneJSON = try run(["refresh", "kiicloud://users/none", "--format", "json"])
        #expect(goneJSON.code == 1 && goneJSON.output == #"{"uri":"kiicloud://users/none","exists":false}"# + "\n")
        let other = try run(["refresh", "kiicloud://other/users/u-1"])
        #expect(other.code == 1 && other.errors.contains("name different apps"))
    }

    @Test("unsubscribe ends the pushes of all of a list, and can be run again")
    func unsubscribe() async throws {
        defer { server.stop() }
        try await client.write(KiiObject(bucket: Self.bucket, id: "o"), .create([:]))
        let source = PushSource.bucket(Self.bucket)
        for number in 0..<300 {
            try await client.perform(.subscribe(.thing(KiiThing(id: "th.\(number)")), to: source))
        }
        let lines = (0..<300).map { "thing:th.\($0)" }.joined(separator: "\r\n")
        let list = try TemporaryFile("# the fleet\n\n\(lines)\n  user:u-9 \n", name: "list.txt")
        let arguments = ["unsubscribe", "kiicloud://buckets/settings", "--list", list.path]
        let run = try run(arguments)
        #expect(run.code == 0 && run.output == "unsubscribed 300 of 301, 1 had no subscription\n", "\(run.output)")
        #expect(!cloud.isSubscribed(.thing(KiiThing(id: "th.299")), to: source))
        #expect(server.acceptedConnections <= 8)
        let again = try self.run(arguments + ["--format", "json"])
        let results = again.output.split(separator: "\n")
        #expect(again.code == 0 && results.count == 301)
        #expect(results.contains(#"{"subscriber":"thing:th.7","result":"none"}"#))
        let one = try self.run(["unsubscribe", "kiicloud://buckets/settings", "--of", "user:u-9"])
        #expect(one.output == "unsubscribed 0 of 1, 1 had no subscription\n")
    }

    @Test("unsubscribe goes on behind a failure, and stops where Kii says that there are too many requests")
    func unsubscribeFails() async throws {
        defer { server.stop() }
        try await client.perform(.createTopic(Self.topic))
        let names = (0..<40).map { "user:u-\($0)" }
        let list = try TemporaryFile(names.joined(separator: "\n"), name: "list.txt")
        let arguments = ["unsubscribe", "kiicloud://users/u-1/topics/news", "--list", list.path]
        cloud.fail(.close(.answer), .status(500, code: "UNDEFINED_ERROR"))
        let some = try run(arguments)
        #expect(some.code == 1 && some.output == "unsubscribed 0 of 40, 38 had no subscription, 2 failed\n")
        #expect(some.errors.split(separator: "\n").count == 2 && some.errors.contains("UNDEFINED_ERROR (status 500)"))
        let before = cloud.requests.count
        cloud.fail(.status(429))
        let stopped = try run(arguments)
        #expect(stopped.code == 1 && stopped.output.contains("1 failed, ") && stopped.output.contains(" not tried"))
        #expect(stopped.errors.contains("run it again later") && cloud.requests.count < before + 40)
        let wrong = try TemporaryFile("user:u-1\nnobody\n", name: "list.txt")
        let requests = cloud.requests.count
        let refused = try run(["unsubscribe", "kiicloud://users/u-1/topics/news", "--list", wrong.path])
        #expect(refused.code == 1 && refused.errors.contains("list.txt:2: expected user:ID or thing:ID"))
        let bytes = try TemporaryFile("", name: "list.txt")
        try Data(Array("user:u-1\nuser:u-".utf8) + [0xFF]).write(to: URL(filePath: bytes.path))
        let invalid = try run(["unsubscribe", "kiicloud://users/u-1/topics/news", "--list", bytes.path])
        #expect(invalid.code == 1 && invalid.errors.contains("list.txt: expected UTF-8; nothing was done"))
        #expect(cloud.requests.count == requests)
    }

    @Test("install writes the endpoint that receive reads, for its owner only")
    func install() throws {
        defer { server.stop() }
        let endpoint = try TemporaryFile("", name: "endpoint.json")
        let run = try run(["install", "--thing", "th.1", "--development", "--endpoint", endpoint.path])
        #expect(run.code == 0 && run.output.hasPrefix("installation installation-"), "\(run.errors)")
        #expect(!run.output.contains("password-"))
        let settings = try MQTTSettings(endpointFile: endpoint.path)
        #expect(settings.host == "mqtt.cloud.test" && settings.port == 8883 && settings.usesTLS)
        var status = stat()
        #expect(unsafe stat(endpoint.path, &status) == 0 && status.st_mode & 0o777 == 0o600)
        let installs = cloud.requests.filter { $0.method == .post }.count
        let id = String(run.output.split(separator: "\n")[0].dropFirst("installation ".count))
        cloud.fail(.status(503, retryAfter: 0))
        let again = try self.run(["install", "--installation", id, "--endpoint", endpoint.path, "--format", "json"])
        #expect(again.code == 0 && again.output.hasPrefix(#"{"installationID":"\#(id)","endpoint":""#))
        #expect(cloud.requests.filter { $0.method == .post }.count == installs)
        // Where nothing was printed before, the error has the installation.
        cloud.fail(.rubbish)
        let lost = try self.run(["install", "--installation", id, "--endpoint", endpoint.path, "--format", "json"])
        #expect(lost.code == 1 && lost.errors.contains("again with --installation \(id)"), "\(lost.errors)")
        let nowhere = try self.run(["install", "--endpoint", "/nowhere/at/all"])
        #expect(nowhere.code == 1 && nowhere.errors.contains("add --installation installation-"))
    }

    @Test("an account may come from standard input; no server, and a token that is none, are told")
    func failures() throws {
        let list = ["refresh", "kiicloud://users/u-1"]
        let fromInput = try ChildRun(list + ["--account", "-"], input: account.path)
        #expect(fromInput.code == 1 && fromInput.errors == "kiipush refresh: there is none\n")
        cloud.expire(token)
        let ended = try run(list)
        #expect(ended.code == 1 && ended.errors.contains("WRONG_TOKEN (status 403): the token is invalid"))
        server.stop()
        let port = server.port
        let end = ContinuousClock.now + .seconds(10)
        while server.openConnections > 0, ContinuousClock.now < end { sched_yield() }
        let nobody = try run(list)
        #expect(nobody.code == 1 && nobody.errors.contains("the server was not reached"), "\(port): \(nobody.errors)")
    }
}
#endif
