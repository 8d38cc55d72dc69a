import KiiCloudTesting
import KiiPush
import KiiPushTesting
import Synchronization
import Testing

@testable import KiiCloud

@Suite("what a handler does to the cloud")
struct HandlerWriteTests {
    private let cloud = TestCloud.withUser()
    private let object = KiiObject(bucket: KiiBucket(scope: .app, name: "settings"), id: "o-1")
    private let receiver = PushReceiver(app: "0123abcd", me: [.thing(id: "th.2")])
    private var client: KiiClient {
        KiiClient(Cloud.app, transport: cloud, tokens: FixedToken(Secret("token-1")), clock: NotedClock())
    }

    private func event(_ event: KiiEvent = .objectUpdated, at time: Int64, modifiedAt: Int64?) async -> String {
        let fixture = PayloadFixture.pushToApp(event: event, sender: nil, sentAt: time, modifiedAt: modifiedAt)
        return "\(await receiver.receive(fixture.payload(.long)))"
    }

    private func lastBody() throws -> DataValue {
        let body = cloud.requests.last?.body ?? []
        return try PushMessage(RawPayload(body)).rawObject
    }

    @Test("a write's own event is dropped, and the object bears the handler's stamp")
    func written() async throws {
        let client = client
        receiver.onPushToApp(id: "settings", bucket: "settings", object: "*") { event, context in
            try await context.write(event.object, .replace(["temp": 22]), with: client)
        }
        #expect(await event(at: 1, modifiedAt: 1) == "handled")
        #expect(await event(at: 2, modifiedAt: 1_700_000_000_001) == "looped (echo)")
        #expect(await event(at: 3, modifiedAt: 1_700_000_000_002) == "handled", "somebody else's write")
        let body = try lastBody()
        #expect(body["temp"] == 22 && body[Lineage.key]?.string?.hasPrefix("1;1;") == true)
    }

    @Test("the push about a write names its object, also in an encrypted bucket", arguments: [nil, "crypto", "sync"])
    func pushed(type: String?) async throws {
        let bucket = KiiBucket(scope: .app, name: "settings", type: type.map { KiiBucketType($0) })
        let write = CloudRequest.writeObject(bucket.object("o-1"), .replace(["temp": 22]))
        try await client.perform(write)
        try await client.perform(.subscribe(.user(Cloud.user), to: .bucket(bucket)))
        try await client.perform(write)
        let push = try #require(cloud.takePushes(for: .user(Cloud.user)).first)
        #expect(try PushMessage(push).object == bucket.object("o-1"))
    }

    @Test(
        "a write that was refused, or got no answer, is reported failed: an event that comes is handled",
        arguments: [409, 503])
    func failed(status: Int) async throws {
        let client = KiiClient(
            Cloud.app, transport: cloud, tokens: FixedToken(Secret("token-1")), retries: RetrySettings(attempts: 1),
            clock: NotedClock())
        cloud.fail(.status(status, code: "OBJECT_VERSION_IS_STALE"))
        receiver.onPushToApp(id: "settings", bucket: "settings", object: "*") { event, context in
            try await context.write(event.object, .replace([:], ifMatch: nil), with: client)
        }
        #expect(await event(at: 1, modifiedAt: 1) == "failed (settings)")
        #expect(await event(at: 2, modifiedAt: 2) == "handled")
    }

    @Test("a deletion's own event is dropped; where nothing was deleted, none is expected", arguments: [true, false])
    func deleted(isThere: Bool) async throws {
        let client = client
        if isThere { try await client.write(object, .create([:])) }
        let answers = Mutex<[Bool]>([])
        receiver.onPushToApp(id: "settings", bucket: "settings", object: "*") { event, context in
            let wasThere = try await context.delete(event.object, with: client)
            answers.withLock { $0.append(wasThere) }
        }
        #expect(await event(at: 1, modifiedAt: 1) == "handled")
        let second = await event(.objectDeleted, at: 2, modifiedAt: nil)
        #expect(second == (isThere ? "looped (echo)" : "handled"))
        #expect(answers.withLock { $0 } == (isThere ? [true] : [false, false]))
    }

    @Test("a handler that writes the version that it read goes on with the object's lineage")
    func lineage() async throws {
        let client = client
        let stamp = "1;3;th.9;1700000000000"
        try await client.write(object, .create(["temp": 21, "_kl": .string(stamp)]))
        receiver.onPushToApp(id: "settings", bucket: "settings", object: "*") { event, context in
            guard let record = try await client.perform(.readObject(event.object)) else { return }
            let context = try context.continuing(record)
            try await context.write(event.object, .patch(["temp": 22], ifMatch: record.version), with: client)
        }
        #expect(await event(at: 1_700_000_000_002, modifiedAt: 1_700_000_000_001) == "handled")
        let body = try lastBody()
        #expect(body["temp"] == 22 && body[Lineage.key]?.string?.hasPrefix("1;4;th.9;") == true, "\(body)")
    }

    @Test(
        "a write that would change nothing of what was read is not sent",
        arguments: [
            (ObjectWrite.patch(["temp": 21]), false), (.patch(["temp": 21, "on": true]), false),
            (.patch(["temp": .number("21.0")]), false), (.patch(["temp": "21"]), true), (.patch([:]), false),
            (.patch(["temp": 22]), true), (.patch(["new": 1]), true), (.replace(["on": true, "temp": 21]), false),
            (.replace(["temp": 21]), true), (.replace(["temp": 21, "on": true, "new": .null]), true),
        ])
    func unchanged(write: ObjectWrite, isSent: Bool) async throws {
        let client = client
        try await client.write(object, .create(["temp": 21, "on": true, "_kl": "1;1;th.9;1"]))
        let written = Mutex<[Written?]>([])
        receiver.onPushToApp(id: "settings", bucket: "settings", object: "*") { event, context in
            guard let record = try await client.perform(.readObject(event.object)) else { return }
            let answer = try await context.write(record, write, with: client)
            written.withLock { $0.append(answer) }
        }
        #expect(await event(at: 1, modifiedAt: 1) == "handled")
        #expect(written.withLock { $0.map { $0 != nil } } == [isSent])
        #expect(cloud.requests.count == (isSent ? 3 : 2))
        let version = cloud.requests.last?[header: "If-Match"]
        #expect(version == (isSent ? "1" : nil))
    }

    @Test("a push that a handler sends bears the stamp, and is checked with it")
    func sent() async throws {
        let client = client
        let user = Sender.user(Cloud.user)
        try await client.perform(.createTopic(Cloud.topic))
        receiver.onPushToUser(topic: "news") { message, context in
            let answer = OutgoingMessage(data: ["text": "seen"])
            try await context.send(answer, to: Cloud.topic, as: user, with: client)
        }
        let fixture = PayloadFixture.pushToUser(topic: "news")
        #expect(await receiver.receive(fixture.payload(.long)).name == "handled")
        let data = try #require(try lastBody()["data"])
        #expect(data["text"] == "seen" && data[Lineage.key]?.string?.hasPrefix("1;1;") == true)
    }
}

@Suite("answers of Thing-IF commands")
struct ThingCommandAnswersTests {
    private let cloud = TestCloud.withUser()
    private var answers: ThingCommandAnswers {
        let (token, thing) = (FixedToken(Secret("token-1")), Cloud.thing)
        let client = KiiClient(Cloud.app, transport: cloud, tokens: token, clock: NotedClock())
        let answers = ThingCommandAnswers(client, thing: thing)
        return answers
    }

    private static let command = RawPayload(
        #"{"commandID":"c-1","actions":[{"air":[{"turnPower":true},{"setTemp":25}]}]}"#, transport: .mqtt)

    private static func unsent(_ answer: Answer, _ payload: RawPayload = command) -> UnsentAnswer {
        UnsentAnswer(id: 1, sender: "thing-if", payload: payload, answer: answer)
    }

    @Test(
        "each action has its result",
        arguments: [
            (Answer(.succeeded), #"[{"turnPower":{"succeeded":true}},{"setTemp":{"succeeded":true}}]"#),
            (
                .failed("broken"),
                #"[{"turnPower":{"succeeded":false,"errorMessage":"broken"}},{"setTemp":{"succeeded":false,"errorMessage":"broken"}}]"#
            ),
            (
                Answer(.expired),
                #"[{"turnPower":{"succeeded":false,"errorMessage":"expired"}},{"setTemp":{"succeeded":false,"errorMessage":"expired"}}]"#
            ),
            (partly, #"[{"turnPower":{"succeeded":true}},{"setTemp":{"succeeded":false,"errorMessage":"stuck"}}]"#),
        ])
    func results(answer: Answer, results: String) async throws {
        #expect(answers.takes(try PushMessage(Self.command)))
        try await answers.send(Self.unsent(answer))
        let request = try #require(cloud.requests.last)
        #expect(request.path.hasSuffix("/targets/thing:\(Cloud.thing.id)/commands/c-1/action-results"))
        #expect(String(decoding: request.body, as: UTF8.self) == #"{"actionResults":[{"air":\#(results)}]}"#)
    }

    private static let partly: Answer = {
        var answer = Answer.failed("stuck")
        answer[failureOf: "setTemp"] = "stuck"
        return answer
    }()

    @Test("of two actions whose names look alike, only the one that failed is reported as failed")
    func lookAlikes() async throws {
        var answer = Answer.failed("stuck")
        answer[failureOf: "caf\u{E9}"] = "stuck"
        let payload = RawPayload(
            "{\"commandID\":\"c\",\"actions\":[{\"a\":[{\"caf\u{E9}\":1},{\"cafe\u{301}\":1}]}]}", transport: .mqtt)
        try await answers.send(Self.unsent(answer, payload))
        let body = String(decoding: try #require(cloud.requests.last).body, as: UTF8.self)
        #expect(body.hasSuffix(#"{"succeeded":true}}]}]}"#), "\(body)")
    }

    @Test("what Kii refuses for good is refused, and anything else is tried again")
    func errors() async throws {
        for (status, isFinal) in [
            (404, true), (409, true), (400, true), (401, false), (403, false), (408, false), (429, false), (302, false),
            (200, true),
        ] {
            cloud.fail(.status(status))
            do {
                try await answers.send(Self.unsent(Answer(.succeeded)))
                Issue.record("\(status) is no success")
            } catch { #expect((error is AnswerRefused) == isFinal, "\(status): \(error)") }
        }
        for payload in [
            "{}", #"{"commandID":".","actions":[{"a":[{"b":1}]}]}"#, #"{"commandID":"..","actions":[{"a":[{"b":1}]}]}"#,
        ] {
            await #expect(throws: AnswerRefused.self, "\(payload)") {
                try await answers.send(Self.unsent(Answer(.succeeded), RawPayload(payload, transport: .mqtt)))
            }
        }
        #expect(try !answers.takes(PushMessage(RawPayload(#"{"a":1}"#))))
    }
}
