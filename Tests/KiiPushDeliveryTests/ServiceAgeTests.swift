import KiiPushDelivery
import KiiPushTesting
import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

/// How old a message may be when a service runs its handlers.
@Suite(.oneByOne, .timeLimit(.minutes(5)))
struct ServiceAgeTests {
    /// The time at which the payloads of a bench are sent, about.
    private static let sent: Int64 = 1_000_000

    private static func settings(_ maxAge: Duration?, backoff: Duration = .seconds(20)) -> DeliverySettings {
        .with { ($0.maxAge, $0.backoff) = (maxAge, backoff) }
    }

    @Test("a message that has got too old in the pause behind a failure expires, and is no dead letter")
    func retried() async throws {
        let inbox = SpyInbox()
        let (bench, intake, run) = await ServiceBench(
            inbox: inbox, delivery: Self.settings(.seconds(30)), clock: ManualClock(wallNow: Self.sent)
        ) { _, _ in throw TestError() }.opened()
        let receipt = try intake.submit([ServiceBench.payload(1)])[0]
        try await bench.passTime { receipt.word != "open" }
        // Tried at 0 s and 20 s; at 50 s it is too old.
        #expect(receipt.word == "expired" && bench.log.events == ["r 1", "r 1"])
        #expect(bench.letters.count == 0 && inbox.disk.numbers.isEmpty)
        #expect(bench.receiver.metrics.nonzero == ["expired: 1"])
        #expect(bench.receiver.metrics.routes.map { [$0.failed, $0.expired] } == [[2, 1]])
        _ = try await bench.close(run)
    }

    @Test("of several routes each is judged by itself at each attempt, and skipped once")
    func several() async throws {
        let inbox = SpyInbox()
        let (bench, intake, run) = await ServiceBench(
            routes: [
                ("short", Self.settings(.seconds(30))), ("long", Self.settings(.seconds(3600))),
                ("done", Self.settings(.seconds(30))),
            ], inbox: inbox, clock: ManualClock(wallNow: Self.sent)
        ) { _, context in
            if context.route == "short" || (context.route == "long" && context.attempt < 4) { throw TestError() }
        }.opened()
        let receipt = try intake.submit([ServiceBench.payload(1)])[0]
        try await bench.passTime { receipt.word != "open" }
        #expect(
            bench.log.events == ["short 1", "long 1", "done 1", "short 1", "long 1", "long 1", "long 1"])
        guard case .handled(let routes)? = receipt.outcome else { return #expect(Bool(false), "\(receipt.word)") }
        #expect(routes.ids == ["long", "done"])
        #expect(bench.receiver.metrics.routes.map(\.expired) == [1, 0, 0])
        // The skipped route is not written down as one that has handled it.
        #expect(inbox.log.events.filter { $0.hasPrefix("failed") }.allSatisfy { $0 == "failed 1 [done]" })
        _ = try await bench.close(run)
    }

    @Test("the dead letter of a message names no route for which it was too old")
    func letter() async throws {
        let (bench, intake, run) = await ServiceBench(
            routes: [("short", Self.settings(.seconds(30))), ("long", nil)], clock: ManualClock(wallNow: Self.sent)
        ) { _, _ in throw TestError() }.opened()
        let receipt = try intake.submit([ServiceBench.payload(1)])[0]
        try await bench.passTime { receipt.word != "open" }
        #expect(receipt.word == "deadLettered (failed)")
        #expect(bench.letters.letters().map(\.routes) == [["long"]])
        _ = try await bench.close(run)
    }

    @Test("the service's own limit counts for routes without settings of their own, and only for those")
    func standard() async throws {
        let routes: [(id: String, delivery: DeliverySettings?)] = [("its", nil), ("own", Self.settings(nil))]
        let bench = ServiceBench(
            routes: routes, delivery: Self.settings(.seconds(30)), clock: ManualClock(wallNow: Self.sent + 60_000))
        let (intake, run) = await bench.open()
        let receipts = try intake.submit([ServiceBench.payload(1)])
        #expect(await receipts.words() == ["handled"] && bench.log.events == ["own 1"])
        bench.service.setDelivery(Self.settings(.seconds(90)))
        #expect(try await intake.submit([ServiceBench.payload(2)]).words() == ["handled"])
        #expect(bench.log.events == ["own 1", "its 2", "own 2"])
        _ = try await bench.close(run)
    }

    @Test("what an earlier process left is judged by the date when it was sent, or by when it arrived")
    func recovered() async throws {
        let disk = SpyInbox.Disk()
        var waiting = PayloadFixture.pushToUser(sentAt: nil).payload(.long)
        waiting.arrivedAt = .seconds(-31)
        let old = ServiceBench.payload(1)
        _ = try SpyInbox(disk).add([old, waiting, ServiceBench.payload(59_000, "p")])
        let (bench, _, run) = await ServiceBench(
            inbox: SpyInbox(disk), delivery: Self.settings(.seconds(30)),
            clock: ManualClock(wallNow: Self.sent + 60_000)
        ).opened()
        try await until { disk.numbers.isEmpty }
        #expect(bench.log.events == ["r 59000"])
        #expect(bench.receiver.metrics.nonzero == ["handled: 1", "expired: 2"])
        _ = try await bench.close(run)
    }

    @Test("a route that has handled it before a restart makes the message handled, though it expires for the other")
    func recoveredInPart() async throws {
        let inbox = SpyInbox()
        let id = try inbox.add([ServiceBench.payload(1)])[0]
        try await inbox.record([.begun(id, attempt: 1), .failed(id, handled: ["a"])])
        let (bench, _, run) = await ServiceBench(
            routes: [("a", nil), ("b", nil)], inbox: inbox, delivery: Self.settings(.seconds(30)),
            clock: ManualClock(wallNow: Self.sent + 60_000)
        ).opened()
        try await until { inbox.disk.numbers.isEmpty }
        #expect(bench.log.events == [] && bench.receiver.metrics.nonzero == ["handled: 1"])
        _ = try await bench.close(run)
    }
}
