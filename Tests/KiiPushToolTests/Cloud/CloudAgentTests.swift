#if HTTP && SQLite
import Foundation
import KiiCloud
import KiiCloudTesting
import KiiPush
import KiiPushTesting
import Testing

@testable import kiipush
@testable import KiiPushTestSupport

/// `kiipush receive --account` as a process of its own, at a cloud behind a port.
@Suite("an agent whose rules call Kii's cloud", .timeLimit(.minutes(5)))
struct CloudAgentTests {
    private let cloud = TestCloud()
    private let server: TestCloudServer
    private let thing = KiiThing(id: "th.1")

    init() throws { server = try TestCloudServer(cloud) }

    private static let rules = #"""
        {"version": 1, "app": "0123abcd", "me": ["thing:th.1"],
         "rules": [
          {"id": "state", "when": {"topic": "orders", "data": {"target": {"exists": true}}}, "continue": true,
           "then": {"write": {"object": "kiicloud://things/th.1/buckets/state/objects/heating",
                              "fields": {"target": "${data.target|number}"}}}},
          {"id": "tell", "when": {"topic": "orders", "data": {"target": {"exists": true}}},
           "then": {"send": {"topic": "kiicloud://things/th.1/topics/alerts", "data": {"text": "${data.target} degrees"}}}}],
         "tests": []}
        """#

    private func account(_ token: Secret, app: String = "0123abcd") throws -> TemporaryFile {
        try TemporaryFile(
            #"{"site":"http://\#(server.app.host)","app":"\#(app)","key":"key-of-the-app","token":"\#(token.revealed)"}"#,
            name: "account.json")
    }

    private func orders(_ targets: Int64...) throws -> TemporaryFile {
        let lines = targets.enumerated().map { number, target in
            var fixture = PayloadFixture.pushToUser(topic: "orders", sentAt: 1_700_000_000_000 + Int64(number))
            fixture.data = [("target", .number("\(target)"))]
            return String(decoding: fixture.payload(.long).bytes, as: UTF8.self)
        }
        return try TemporaryFile(lines.joined(separator: "\n") + "\n", name: "orders")
    }

    @Test("what rules ask for happens, announced and stamped; a write that changes nothing is not sent")
    func runs() async throws {
        defer { server.stop() }
        let token = cloud.logIn(.thing(thing))
        let client = KiiClient(cloud.app, transport: cloud, tokens: FixedToken(token))
        let topic = KiiTopic(scope: .thing(thing), name: "alerts")
        try await client.perform(.createTopic(topic))
        try await client.perform(.subscribe(.user(KiiUser(id: "u-1")), to: .topic(topic)))
        let (rules, account) = (try TemporaryFile(Self.rules, name: "r.json"), try account(token))
        let orders = try orders(21, 22, 22)
        let run = try ChildRun(
            ["receive", "--rules", rules.path, "--stdin", "--account", account.path], input: orders.path)
        #expect(run.code == 0, "\(run.errors)")
        let object = KiiObject(bucket: KiiBucket(scope: .thing(thing), name: "state"), id: "heating")
        #expect(cloud.fields(of: object)?["target"] == 22 && cloud.version(of: object) == 2)
        #expect(cloud.fields(of: object)?[Lineage.key] != nil)
        let pushes = try cloud.takePushes(for: .user(KiiUser(id: "u-1"))).map { try PushMessage($0) }
        let texts = pushes.map { $0.data["text"]?.string }
        #expect(texts == ["21 degrees", "22 degrees", "22 degrees"])
        #expect(cloud.violations == [] && !(run.output + run.errors).contains(token.revealed))
    }

    @Test("a token that ended is read again from the account's file")
    func renewed() async throws {
        defer { server.stop() }
        let (old, new) = (cloud.logIn(.thing(thing)), cloud.logIn(.thing(thing)))
        let rules = try TemporaryFile(
            #"""
            {"version": 1, "rules": [
             {"id": "state", "when": {"topic": "orders"},
              "then": {"write": {"object": "kiicloud://things/th.1/buckets/state/objects/heating",
                                 "fields": {"target": "${data.target|number}"}}}}], "tests": []}
            """#, name: "r.json")
        let (account, socket) = (try account(old), try TemporaryFile("", name: "s"))
        let path = socket.path + ".sock"
        let agent = try RunningAgent(["--rules", rules.path, "--unix", path, "--account", account.path])
        cloud.expire(old)
        try Data(
            #"{"site":"http://\#(server.app.host)","app":"0123abcd","key":"key-of-the-app","token":"\#(new.revealed)"}"#
                .utf8
        ).write(to: URL(filePath: account.path))
        let link = try SocketPeer(path, within: .seconds(60))
        _ = link.ask(String(try orders(23).contents().dropLast()))
        try agent.wait { $0.log.contains("handled") || $0.log.contains("failed") }
        let object = KiiObject(bucket: KiiBucket(scope: .thing(thing), name: "state"), id: "heating")
        #expect(cloud.fields(of: object)?["target"] == 23, "\(agent.log)")
        #expect(try agent.stop() == 0)
    }

    @Test("without an account, or with another app's, the agent does not start, and says what to do")
    func refused() async throws {
        defer { server.stop() }
        let rules = try TemporaryFile(Self.rules, name: "r.json")
        let without = try ChildRun(["receive", "--rules", rules.path, "--stdin"])
        #expect(without.code == 1)
        let advice = "r.json:4:33: the rule 'state' calls Kii's cloud; name the account with --account FILE"
        #expect(without.errors.contains(advice), "\(without.errors)")
        let other = try account(cloud.logIn(.thing(thing)), app: "other")
        let wrong = try ChildRun(["receive", "--rules", rules.path, "--stdin", "--account", other.path])
        #expect(
            wrong.code == 1 && wrong.errors.contains("the account and the rules name different apps"), "\(wrong.errors)"
        )
        let input = try ChildRun(["receive", "--rules", rules.path, "--stdin", "--account", "-"])
        #expect(input.code == 64 && input.errors.contains("--account needs a file"), "\(input.errors)")
        #expect(cloud.requests.isEmpty)
    }
}
#endif
