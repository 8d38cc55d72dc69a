import KiiCloudTesting
import KiiPush
import Testing

@testable import KiiCloud

@Suite("calls to a cloud")
struct KiiClientTests {
    private let cloud = TestCloud.withUser()
    private let clock = NotedClock()

    private func client(_ tokens: any TokenSource = FixedToken(Secret("token-1"))) -> KiiClient {
        KiiClient(Cloud.app, transport: cloud, tokens: tokens, clock: clock)
    }

    private var sent: Int { cloud.requests.count }

    @Test("503 is retried after the time that the server names, or with growing pauses")
    func temporary() async throws {
        let busy = TestFault.status(503, code: "LOCK_FAILED")
        cloud.fail(busy, .status(503, code: "LOCK_FAILED", retryAfter: 7), busy, .status(503))
        #expect(try await client().perform(.createTopic(Cloud.topic)))
        let pauses = clock.pauses
        #expect(sent == 5 && pauses.count == 4 && pauses[1] == .seconds(7))
        for (pause, seconds) in zip([pauses[0], pauses[2], pauses[3]], [1.0, 4, 8]) {
            #expect((.seconds(seconds * 0.8) ... .seconds(seconds * 1.2)).contains(pause), "\(pauses)")
        }
    }

    @Test("a request with a stamp is made anew when it has waited for half of the stamp's lifetime")
    func renewed() async throws {
        for _ in 1...3 { cloud.fail(.status(503, code: "LOCK_FAILED", retryAfter: 10)) }
        var made: Int64 = 0
        _ = try await client().perform(renewingAfter: Lineage.lifetime / 2) {
            made += 1
            return .writeObject(Cloud.object, .create(["made": .integer(made)]))
        }
        let bodies = cloud.requests.map { String(decoding: $0.body, as: UTF8.self) }
        // Sent at 0, 10, 20 and 30 seconds.
        #expect(bodies == [1, 1, 2, 2].map { #"{"made":\#($0)}"# })
    }

    @Test("after five attempts, or for too long a wait, the caller gets the error")
    func givesUp() async throws {
        for _ in 1...5 { cloud.fail(.status(503)) }
        let unnamed = await #expect(throws: CloudError.self) { try await client().perform(.createTopic(Cloud.topic)) }
        #expect(sent == 5 && unnamed != nil && unnamed?.requestedPause == nil)
        cloud.fail(.status(503, retryAfter: 31))
        let error = await #expect(throws: CloudError.self) { try await client().perform(.createTopic(Cloud.topic)) }
        #expect(sent == 6 && error?.retryAfter == 31 && error?.requestedPause == .seconds(31))
    }

    @Test("429 is never retried", arguments: [nil, 1])
    func tooMany(wait: Int?) async throws {
        cloud.fail(.status(429, retryAfter: wait))
        let error = await #expect(throws: CloudError.self) { try await client().perform(.createTopic(Cloud.topic)) }
        #expect(error?.code == .tooManyRequests && error?.retryAfter == wait && sent == 1 && clock.pauses.isEmpty)
        #expect(error?.requestedPause == .seconds(wait ?? 30))
    }

    @Test("a token that has ended is replaced once; the same token again is not tried")
    func tokens() async throws {
        cloud.expire(Secret("token-1"))
        #expect(cloud.logIn(.user(Cloud.user)) == Secret("token-2"))
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
        let client = client()
        cloud.fail(.close(.work))
        await #expect(throws: TestCloud.NoAnswer.self) { try await client.perform(.createTopic(Cloud.topic)) }
        #expect(sent == 1)
        cloud.fail(.status(503), .status(503))
        let task = Task {
            unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
            _ = try await client.perform(.createTopic(Cloud.topic))
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(sent == 2)
    }

    @Test("a push with a problem is refused before anything is sent")
    func refused() async throws {
        let user = Sender.user(Cloud.user)
        try await client().perform(.createTopic(Cloud.topic))
        #expect(try await client().send(OutgoingMessage(), to: Cloud.topic, as: user).text.hasPrefix("push-"))
        let message = OutgoingMessage(data: ["door": .object([("open", true)])])
        let error = await #expect(throws: RefusedMessage.self) {
            try await client().send(message, to: Cloud.topic, as: user)
        }
        #expect(error?.problems.map(\.path) == ["data.door"] && sent == 2)
        await #expect(throws: RefusedMessage.self) {
            try await client().send(OutgoingMessage(), to: KiiTopic(scope: .app, name: "t"), as: user)
        }
    }

    @Test("a client that knows whose token it has checks their rights; one that does not leaves them to Kii")
    func whoSends() async throws {
        let (mine, news) = (Cloud.user.topic("t"), KiiScope.app.topic("news"))
        let others = KiiUser(id: "u-9").topic("t")
        // The developer's token, with which Kii lets everything through.
        let tokens = FixedToken(cloud.logIn(PushAddress.developer))
        for topic in [mine, news, others, Cloud.topic, Cloud.thing.topic("t")] {
            try await client(tokens).perform(.createTopic(topic))
            try await client(tokens).send(OutgoingMessage(), to: topic)
        }
        #expect(sent == 10)
        let known = KiiClient(Cloud.app, transport: cloud, tokens: tokens, me: .user(Cloud.user), clock: clock)
        try await known.send(OutgoingMessage(), to: mine)
        await #expect(throws: RefusedMessage.self) { try await known.send(OutgoingMessage(), to: news) }
        try await known.send(OutgoingMessage(), to: news, as: PushAddress.developer)
        #expect(sent == 12)
    }

    @Test("a sender that is not known counts with an id of the usual length")
    func assumedSender() async throws {
        try await client().perform(.createTopic(Cloud.topic))
        // 43 bytes more are too many for APNs.
        var message = OutgoingMessage(data: ["text": .string(String(repeating: "x", count: 2000))])
        message.sends = [.sender]
        let error = await #expect(throws: RefusedMessage.self) { try await client().send(message, to: Cloud.topic) }
        #expect(error?.problems.map(\.code) == [.tooLarge])
        message.sends = []
        try await client().send(message, to: Cloud.topic)
        #expect(sent == 2)
    }

    @Test("asks for an endpoint until it is ready or the attempts are used up")
    func endpoint() async throws {
        let id = try await client().perform(.install(isDevelopment: true)).id
        func delay() {
            let (early, named) = (TestFault.status(503), TestFault.status(503, retryAfter: 2))
            cloud.fail(named, early, named)
        }
        delay()
        #expect(try await client().mqttEndpoint(of: id)?.portSSL == 8883)
        #expect(clock.pauses == [.seconds(2), .seconds(3), .seconds(2)])
        delay()
        #expect(try await client().mqttEndpoint(of: id, attempts: 3) == nil)
        #expect(clock.pauses.count == 5)
    }

    @Test("pauses double up to the longest, and vary by a fifth")
    func pauses() {
        let settings = RetrySettings(pause: .seconds(10), longestPause: .seconds(60))
        #expect((1...5).map { settings.pause(behind: $0, jitter: 0) } == [10, 20, 40, 60, 60].map { .seconds($0) })
        #expect([-1, 1].map { settings.pause(behind: 1, jitter: $0) } == [.seconds(8), .seconds(12)])
    }
}
