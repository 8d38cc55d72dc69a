import KiiPushTesting
import Synchronization
import Testing

@testable import KiiPush
@testable import KiiPushDelivery
@testable import KiiPushTestSupport

/// Whose turn it is, and that nobody has all workers.
@Suite(.oneByOne, .timeLimit(.minutes(5)))
struct ServiceFairTests {
    private static let quietTopic = ServiceBench.topic(9999, "quiet", sender: "u")

    /// Messages that share nothing but a route, or not even that, and one that is to begin before most of them.
    static let quiets: [(what: String, noisy: @Sendable (Int) -> RawPayload, quiet: RawPayload)] = [
        (
            "objects of a bucket", { ServiceBench.payload($0, "o\($0)", bucket: "noisy") },
            ServiceBench.payload(9999, "o", bucket: "quiet")
        ),
        (
            "events of a bucket", { ServiceBench.payload($0, nil, bucket: "noisy") },
            ServiceBench.payload(9999, nil, bucket: "quiet")
        ),
        ("users of a topic", { ServiceBench.topic($0, "noisy", sender: "u\($0)") }, quietTopic),
        ("buckets of a route", { ServiceBench.payload($0, "o", bucket: "b\($0)") }, quietTopic),
        ("topics of a route", { ServiceBench.topic($0, "t\($0)", sender: nil) }, ServiceBench.payload(9999)),
    ]

    @Test("a message of another key is the next but one, however many of one key are ready", arguments: quiets)
    func quietIsNext(what: String, noisy: @Sendable (Int) -> RawPayload, quiet: RawPayload) async throws {
        let gate = Gate()
        let bench = Self.bench(.with { $0.concurrency = 1 }) { number in if number == 0 { await gate.wait() } }
        let (intake, run) = await bench.open()
        var receipts: [Receipt] = []
        for number in 0..<900 { receipts += try intake.submit([noisy(number)]) }
        try await bench.calls(1)
        receipts += try intake.submit([quiet])
        gate.open()
        #expect(await receipts.words() == Array(repeating: "handled", count: 901))
        let place = try #require(bench.log.events.firstIndex { $0.hasSuffix(" 9999") })
        #expect(place <= 2)
        #expect(try await bench.close(run) == DrainReport())
    }

    /// How many messages run at once: in all, of one bucket, of one route.
    static let mosts = [(1, 1, 1), (2, 1, 1), (3, 1, 2), (4, 2, 3), (8, 6, 7)]

    @Test(
        "slow handlers of a bucket leave a worker for another bucket, those of a route one for another",
        arguments: mosts)
    func workersAreLeft(concurrency: Int, bucket: Int, route: Int) async throws {
        let gate = Gate()
        let bench = Self.bench(.with { $0.concurrency = concurrency }) { _ in await gate.wait() }
        let (intake, run) = await bench.open()
        var receipts: [Receipt] = []
        func expectRunning(_ count: Int) async throws {
            try await until { bench.log.events.count == count }
            for _ in 0..<50 { await Task.yield() }
            #expect(bench.log.events.count == count && bench.service.status.handling == count)
        }
        receipts += try intake.submit((0..<20).map { ServiceBench.payload($0, "o\($0)", bucket: "slow") })
        try await expectRunning(bucket)
        receipts += try intake.submit((20..<30).map { ServiceBench.payload($0, "o", bucket: "b\($0)") })
        try await expectRunning(route)
        receipts += try intake.submit((30..<40).map { ServiceBench.topic($0, "t\($0)", sender: nil) })
        try await expectRunning(concurrency)
        gate.open()
        #expect(await receipts.words() == Array(repeating: "handled", count: 40))
        #expect(try await bench.close(run) == DrainReport())
        #expect(bench.service.state.withLock { $0.room.lanes.count } == 0)
    }

    @Test("a lane whose first message changes while it is ready is served by what its first message is")
    func firstChanges() async throws {
        let delivery = DeliverySettings.with { $0.onFailure = .skip }
        let gate = Gate()
        let tries = Atomic<Int>(0)
        let (bench, intake, run) = await Self.bench(.with { $0.concurrency = 2 }, delivery) { number in
            if number == 1, tries.add(1, ordering: .relaxed).newValue == 1 { throw TestError() }
            if number == 2 { await gate.wait() }
        }.opened()
        var receipts = try intake.submit([ServiceBench.payload(1, "a", bucket: "b", sender: "s")])
        try await until { bench.service.status.retrying == 1 }
        receipts += try intake.submit([
            ServiceBench.payload(2, "x", bucket: "b"), ServiceBench.payload(3, "a", bucket: "b"),
        ])
        // Its route has no worker left, so it is listed; then the one to be tried again comes before it.
        try await bench.passTime { bench.service.status.retrying == 0 }
        gate.open()
        #expect(await receipts.words() == Array(repeating: "handled", count: 3))
        #expect(try await bench.close(run) == DrainReport())
    }

    @Test("what has survived its attempt alone runs beside others, also after a stop")
    func survived() async throws {
        let inbox = SpyInbox()
        _ = try inbox.add([ServiceBench.payload(1, "a")])
        try await inbox.record(.begun(1, attempt: 1))
        do {
            let (bench, _, run) = await ServiceBench(inbox: SpyInbox(inbox.disk)) { _, _ in throw TestError() }.opened()
            try await until { bench.service.status.retrying == 1 }
            run.cancel()
            _ = try await run.value
        }
        let gate = Gate()
        let (bench, intake, run) = await ServiceBench(inbox: SpyInbox(inbox.disk)) { message, _ in
            if message.number == 1 { await gate.wait() }
        }.opened()
        try await bench.calls(1)
        let receipt = try intake.submit([ServiceBench.payload(2, "b")])[0]
        for _ in 0..<500 where receipt.word == "open" { await Task.yield() }
        #expect(receipt.word == "handled")
        gate.open()
        #expect(try await bench.close(run) == DrainReport())
    }

    /// A bench with one route for events and one for topics.
    private static func bench(
        _ settings: ServiceSettings, _ delivery: DeliverySettings = DeliverySettings(),
        act: @escaping @Sendable (Int) async throws -> Void
    ) -> ServiceBench {
        let bench = ServiceBench(routes: [], settings: settings, delivery: delivery)
        let log = bench.log
        bench.receiver.onPushToApp(id: "app") { event, _ in
            log.add("app \(event.message.number)")
            try await act(event.message.number)
        }
        bench.receiver.onPushToUser(id: "user") { event, _ in
            log.add("user \(event.message.number)")
            try await act(event.message.number)
        }
        return bench
    }
}
