import KiiPush
import Synchronization
import Testing

@testable import KiiCloud

@Suite("calls to a cloud")
struct KiiClientTests {
    private let cloud = FakeCloud()
    private let clock = NotedClock()

    private func client(_ tokens: any TokenSource = FixedToken(Secret("token-1"))) -> KiiClient {
        KiiClient(Cloud.app, transport: cloud, tokens: tokens, clock: clock)
    }

    private var sent: Int { cloud.state.withLock { $0.requests.count } }

    private func fail(with failures: [HTTPResponse]) { cloud.state.withLock { $0.failures = failures } }

    @Test("an object is created, read, changed and deleted, by its versions")
    func object() async throws {
        let client = client()
        let object = Cloud.object
        #expect(try await client.perform(.readObject(object)) == nil)
        let created = try await client.perform(.createObject(object, ["temp": 21, "on": true]))
        #expect(created.isNew && created.version == "1")
        await #expect(throws: CloudError.self) { try await client.perform(.createObject(object, [:])) }
        let patched = try await client.perform(.patchObject(object, ["temp": 22], ifMatch: "1"))
        #expect(patched.version == "2" && patched.modifiedAt == 1002)
        let record = try #require(try await client.perform(.readObject(object)))
        #expect(record["temp"] == 22 && record["on"] == true && record.version == "2" && record.modifiedAt == 1002)
        let stale = await #expect(throws: CloudError.self) {
            try await client.perform(.replaceObject(object, [:], ifMatch: "1"))
        }
        #expect(stale?.code == .objectVersionIsStale)
        #expect(try await client.perform(.deleteObject(object, ifMatch: "2")))
        #expect(try await client.perform(.deleteObject(object)) == false)
    }

    @Test("topics and subscriptions come and go, and a second time does nothing")
    func places() async throws {
        let client = client()
        let (topic, user) = (Cloud.topic, PushSubscriber.user(Cloud.user))
        #expect(try await !client.perform(.topicExists(topic)))
        #expect(try await client.perform(.createTopic(topic)))
        #expect(try await !client.perform(.createTopic(topic)))
        #expect(try await client.perform(.topicExists(topic)))
        for source in [PushSource.topic(topic), .bucket(Cloud.bucket)] {
            #expect(try await client.perform(.subscribe(user, to: source)))
            #expect(try await !client.perform(.subscribe(user, to: source)))
            #expect(try await client.perform(.isSubscribed(user, to: source)))
            #expect(try await client.perform(.unsubscribe(user, from: source)))
            #expect(try await !client.perform(.unsubscribe(user, from: source)))
            #expect(try await !client.perform(.isSubscribed(user, to: source)))
        }
        #expect(try await client.perform(.deleteTopic(topic)))
        #expect(try await !client.perform(.deleteTopic(topic)))
    }

    @Test("503 is tried again, after the time that the server names or after growing pauses")
    func temporary() async throws {
        let busy = FakeCloud.refusal(503, "LOCK_FAILED")
        fail(with: [busy, FakeCloud.refusal(503, "LOCK_FAILED", wait: 7), busy, FakeCloud.answer(503)])
        #expect(try await client().perform(.createTopic(Cloud.topic)))
        let pauses = clock.pauses
        #expect(sent == 5 && pauses.count == 4 && pauses[1] == .seconds(7))
        for (pause, seconds) in zip([pauses[0], pauses[2], pauses[3]], [1.0, 4, 8]) {
            #expect((.seconds(seconds * 0.8) ... .seconds(seconds * 1.2)).contains(pause), "\(pauses)")
        }
    }

    @Test("a request with a stamp is made anew when it has waited for half of the stamp's lifetime")
    func renewed() async throws {
        fail(with: (1...3).map { _ in FakeCloud.refusal(503, "LOCK_FAILED", wait: 10) })
        var made: Int64 = 0
        _ = try await client().perform(renewingAfter: Lineage.lifetime / 2) {
            made += 1
            return .createObject(Cloud.object, ["made": .integer(made)])
        }
        let bodies = cloud.state.withLock { $0.requests.map { String(decoding: $0.body, as: UTF8.self) } }
        // Sent at 0, 10, 20 and 30 seconds.
        #expect(bodies == [1, 1, 2, 2].map { #"{"made":\#($0)}"# })
    }

    @Test("after five times the error is the caller's, and so is a wait that is too long")
    func givesUp() async throws {
        fail(with: Array(repeating: FakeCloud.answer(503), count: 9))
        await #expect(throws: CloudError.self) { try await client().perform(.createTopic(Cloud.topic)) }
        #expect(sent == 5)
        fail(with: [FakeCloud.answer(503, wait: 31)])
        let error = await #expect(throws: CloudError.self) { try await client().perform(.createTopic(Cloud.topic)) }
        #expect(sent == 6 && error?.retryAfter == 31)
    }

    @Test("429 is never tried again", arguments: [nil, 1])
    func tooMany(wait: Int?) async throws {
        fail(with: [FakeCloud.answer(429, wait: wait)])
        let error = await #expect(throws: CloudError.self) { try await client().perform(.createTopic(Cloud.topic)) }
        #expect(error?.code == .tooManyRequests && sent == 1 && clock.pauses.isEmpty)
    }

    @Test("a token that has ended is replaced once; the same token again is not tried")
    func tokens() async throws {
        cloud.state.withLock { $0.token = "token-2" }
        #expect(try await client(CountedTokens(from: 1, to: 3)).perform(.createTopic(Cloud.topic)))
        #expect(sent == 2)
        for tokens in [CountedTokens(from: 1, to: 1), CountedTokens(from: 3, to: 9)] {
            let before = sent
            let error = await #expect(throws: CloudError.self) {
                try await client(tokens).perform(.createTopic(Cloud.topic))
            }
            #expect(error?.code == .wrongToken && sent - before == (tokens.last == 1 ? 1 : 2))
        }
    }

    @Test("a call without an answer is not tried again, and a cancelled one waits no longer")
    func lost() async throws {
        struct Broken: HTTPTransport {
            func send(_ request: HTTPRequest) throws -> HTTPResponse { throw FakeCloud.NoAnswer() }
        }
        let broken = KiiClient(Cloud.app, transport: Broken(), tokens: FixedToken(Secret("t")), clock: clock)
        await #expect(throws: FakeCloud.NoAnswer.self) { try await broken.perform(.createTopic(Cloud.topic)) }
        fail(with: [FakeCloud.answer(503), FakeCloud.answer(503)])
        let client = client()
        let task = Task {
            unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
            _ = try await client.perform(.createTopic(Cloud.topic))
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(sent == 1)
    }

    @Test("a push with a problem is refused before anything is sent")
    func refused() async throws {
        let user = Sender.user(Cloud.user)
        #expect(try await client().send(OutgoingMessage(), to: Cloud.topic, as: user).text == "p-1")
        let message = OutgoingMessage(data: ["door": .object([("open", true)])])
        let error = await #expect(throws: RefusedMessage.self) {
            try await client().send(message, to: Cloud.topic, as: user)
        }
        #expect(error?.problems.map(\.path) == ["data.door"] && sent == 1)
        await #expect(throws: RefusedMessage.self) {
            try await client().send(OutgoingMessage(), to: KiiTopic(scope: .app, name: "t"), as: user)
        }
    }

    @Test("a client that knows whose token it has checks their rights; one that does not leaves them to Kii")
    func whoSends() async throws {
        let (mine, news) = (Cloud.user.topic("t"), KiiScope.app.topic("news"))
        let others = KiiUser(id: "u-9").topic("t")
        for topic in [mine, news, others, Cloud.topic, Cloud.thing.topic("t")] {
            try await client().send(OutgoingMessage(), to: topic)
        }
        #expect(sent == 5)
        let known = KiiClient(
            Cloud.app, transport: cloud, tokens: FixedToken(Secret("token-1")), me: .user(Cloud.user), clock: clock)
        try await known.send(OutgoingMessage(), to: mine)
        await #expect(throws: RefusedMessage.self) { try await known.send(OutgoingMessage(), to: news) }
        try await known.send(OutgoingMessage(), to: news, as: PushAddress.developer)
        #expect(sent == 7)
    }

    @Test("a sender that is not known counts with an id of the usual length")
    func assumedSender() async throws {
        // 43 bytes more are too many for APNs.
        var message = OutgoingMessage(data: ["text": .string(String(repeating: "x", count: 2000))])
        message.sends = [.sender]
        let error = await #expect(throws: RefusedMessage.self) { try await client().send(message, to: Cloud.topic) }
        #expect(error?.problems.map(\.code) == [.tooLarge])
        message.sends = []
        try await client().send(message, to: Cloud.topic)
        #expect(sent == 1)
    }

    @Test("an endpoint is waited for until it is ready, or the times are up")
    func endpoint() async throws {
        cloud.state.withLock { $0.endpointWaits = 3 }
        #expect(try await client().mqttEndpoint(of: "i")?.portSSL == 8883)
        #expect(clock.pauses == [.seconds(2), .seconds(3), .seconds(2)])
        cloud.state.withLock { $0.endpointWaits = 3 }
        #expect(try await client().mqttEndpoint(of: "i", attempts: 3) == nil)
        #expect(clock.pauses.count == 5)
    }
}

@Suite("what is done about a call that failed")
struct CallAttemptsTests {
    private let busy = CloudError("LOCK_FAILED", status: 503)

    @Test("pauses double up to the longest, and vary by a fifth")
    func pauses() {
        var attempts = CallAttempts(RetrySettings(attempts: 9, longestPause: .seconds(6)))
        let seconds = [1, 2, 4, 6, 6].map { CallAttempts.Step.wait(.seconds($0)) }
        #expect((0..<5).map { _ in attempts.step(after: busy, jitter: 0) } == seconds)
        var others = CallAttempts(RetrySettings(pause: .seconds(10)))
        #expect(others.step(after: busy, jitter: -1) == .wait(.seconds(8)))
        var others2 = CallAttempts(RetrySettings(pause: .seconds(10)))
        #expect(others2.step(after: busy, jitter: 1) == .wait(.seconds(12)))
    }

    @Test("settings out of range are brought to the nearest that is allowed")
    func bounds() {
        let settings = RetrySettings(attempts: 0, pause: .seconds(-1), longestPause: .seconds(-1))
        #expect(settings == RetrySettings(attempts: 1, pause: .zero, longestPause: .zero))
        var attempts = CallAttempts(settings)
        #expect(attempts.step(after: busy, jitter: 0) == .fail)
    }
}
