import KiiPushTesting
import Synchronization
import Testing

@testable import KiiPush
@testable import KiiPushDelivery
@testable import KiiPushTestSupport

/// What waits for what.
@Suite(.oneByOne, .timeLimit(.minutes(5)))
struct ServiceLaneTests {
    private static let anonymous = PayloadFixture.directPush(recipient: nil).payload(.long)

    private static func change(
        _ number: Int, _ object: String? = "o", bucket: String = "settings", sender: String? = nil
    ) -> RawPayload {
        ServiceBench.payload(number, object, bucket: bucket, sender: sender)
    }

    private static func letter(_ number: Int, _ topic: String, _ sender: String) -> RawPayload {
        ServiceBench.topic(number, topic, sender: sender)
    }

    typealias Pair = (
        order: DeliverySettings.Order, what: String, first: RawPayload, second: RawPayload, waits: Bool
    )

    /// Two messages, and whether the second waits for the first.
    static let pairs: [Pair] = [
        (.object, "one object", change(1), change(2), true),
        (.object, "two objects", change(1, "a"), change(2, "b"), false),
        (.object, "one id in two buckets", change(1, bucket: "x"), change(2, bucket: "y"), false),
        (.object, "one topic", letter(1, "t", "a"), letter(2, "t", "b"), true),
        (.object, "two topics", letter(1, "t", "a"), letter(2, "u", "a"), false),
        (
            .object, "one sender without an object", change(1, nil, bucket: "x", sender: "a"),
            change(2, nil, bucket: "y", sender: "a"), true
        ),
        (.object, "nothing to go by", anonymous, change(2, nil), false),
        (.topic, "one topic", letter(1, "t", "a"), letter(2, "t", "b"), true),
        (.topic, "one object", change(1), change(2), false),
        (.sender, "one sender", change(1, "a", sender: "s"), change(2, "b", sender: "s"), true),
        (.sender, "two senders", change(1, sender: "s"), change(2, sender: "t"), false),
        (.sender, "no sender", change(1), change(2), false),
        (.none, "one object", change(1), change(2), false),
    ]

    @Test("a message waits for those before it that it is in order with, and for no other", arguments: pairs)
    func order(pair: Pair) async throws {
        let delivery = DeliverySettings.with { $0.order = pair.order }
        let gate = Gate()
        let bench = ServiceBench(delivery: delivery) { message, _ in if message.number != 2 { await gate.wait() } }
        let (intake, run) = await bench.open()
        let receipts = try intake.submit([pair.first, pair.second])
        if pair.waits {
            try await bench.calls(1)
            for _ in 0..<100 { await Task.yield() }
            #expect(bench.log.events.count == 1)
            #expect(bench.service.status.waiting == 1)
        } else {
            #expect(await receipts[1].end()?.name == "handled")
        }
        gate.open()
        #expect(await receipts.words() == ["handled", "handled"])
        #expect(try await bench.close(run) == DrainReport())
    }

    @Test("a key of the user's own keeps messages of one text in order, and those without one in none")
    func ownOrder() async throws {
        var byDevice = DeliverySettings()
        byDevice.orderKey = OrderKey { message in message.data["device"]?.string }
        func payload(_ number: Int, _ device: String?) -> RawPayload {
            PayloadFixture.pushToUser(
                sentAt: 1_000_000 + Int64(number), data: device.map { [("device", .string($0))] } ?? []
            ).payload(.long)
        }
        let gate = Gate()
        let bench = ServiceBench(delivery: byDevice) { message, _ in if message.number == 1 { await gate.wait() } }
        let (intake, run) = await bench.open()
        let receipts = try intake.submit([payload(1, "a"), payload(2, "a"), payload(3, "b"), payload(4, nil)])
        try await until { receipts[2].word == "handled" && receipts[3].word == "handled" }
        #expect(receipts[1].word == "open" && bench.service.status.waiting == 1)
        gate.open()
        #expect(await receipts.words() == Array(repeating: "handled", count: 4))
        #expect(try await bench.close(run) == DrainReport())
    }

    @Test("two keys are one only where one call has made them")
    func ownOrderIdentity() {
        let key = OrderKey { _ in "a" }
        var (one, other) = (DeliverySettings(), DeliverySettings())
        (one.orderKey, other.orderKey) = (key, key)
        #expect(one == other && Set([one, other]).count == 1)
        other.orderKey = OrderKey { _ in "a" }
        #expect(one != other)
    }

    @Test("so many are handled at once as the settings say, whatever waits", arguments: [-1, 0, 1, 2, 5])
    func concurrency(limit: Int) async throws {
        let gate = Gate()
        let now = Mutex((running: 0, most: 0))
        // Fewer in flight count as so many.
        let bench = ServiceBench(routes: [], settings: .with { ($0.concurrency, $0.inFlight) = (limit, 0) })
        @Sendable func act() async {
            now.withLock { now in
                now.running += 1
                now.most = max(now.most, now.running)
            }
            await gate.wait()
            for _ in 0..<3 { await Task.yield() }
            now.withLock { $0.running -= 1 }
        }
        // Of two routes, since one alone leaves a worker for others.
        bench.receiver.onPushToApp(id: "app") { _, _ in await act() }
        bench.receiver.onPushToUser(id: "user") { _, _ in await act() }
        let (intake, run) = await bench.open()
        let receipts = try intake.submit(
            (1...40).map { number in
                number % 2 == 0
                    ? ServiceBench.payload(number, "o\(number % 13)")
                    : ServiceBench.topic(number, "t\(number % 13)", sender: nil)
            })
        try await until { bench.service.status.handling == max(limit, 1) }
        gate.open()
        #expect(await receipts.words() == Array(repeating: "handled", count: 40))
        #expect(now.withLock { $0.most } == max(limit, 1))
        #expect(try await bench.close(run) == DrainReport())
        #expect(bench.service.state.withLock { $0.room.lanes.count } == 0)
    }

    @Test(
        "those behind a failed one wait for it, or go ahead; another lane goes on, with a single worker too",
        arguments: DeliverySettings.OnFailure.allCases)
    func onFailure(policy: DeliverySettings.OnFailure) async throws {
        let failures = Atomic<Int>(2)
        let (bench, intake, run) = await ServiceBench(
            settings: .with { $0.concurrency = 1 }, delivery: .with { $0.onFailure = policy }
        ) { message, _ in
            if message.number == 1, failures.subtract(1, ordering: .relaxed).oldValue > 0 { throw TestError() }
        }.opened()
        let receipts = try intake.submit((1...3).map { ServiceBench.payload($0) } + [ServiceBench.payload(4, "other")])
        try await until { receipts[3].word == "handled" }
        #expect(policy == .skip || bench.service.status.handling == 0)
        if policy == .skip { try await until { receipts[2].word == "handled" } }
        try await bench.passTime { receipts.allSatisfy { $0.word == "handled" } }
        let own = bench.log.events.filter { $0 != "r 4" }
        #expect(own == (policy == .block ? ["r 1", "r 1", "r 1", "r 2", "r 3"] : ["r 1", "r 2", "r 3", "r 1", "r 1"]))
        #expect(try await bench.close(run) == DrainReport())
        #expect(bench.receiver.metrics.nonzero == ["handled: 4"])
    }

    // MARK: Replacing

    /// A change that was pushed at one time and modified at another.
    private static func change(_ number: Int, modifiedAt: Int64?) -> RawPayload {
        PayloadFixture.pushToApp(object: "o", sentAt: 1_000_000 + Int64(number), modifiedAt: modifiedAt).payload(.long)
    }

    /// What comes while a first change is handled, and what is left of it.
    static let bursts: [(what: String, payloads: [RawPayload], handled: [Int], ends: [String])] = [
        ("the newest is left", [change(2), change(3)], [1, 3], ["superseded", "handled"]),
        ("an older one that comes late replaces nothing", [change(3), change(2)], [1, 3, 2], ["handled", "handled"]),
        (
            "the same one again is a copy and replaces nothing", [change(2), change(2)],
            [1, 2], ["handled", "duplicate (done)"]
        ),
        (
            "the same one again is one that names no modification too",
            [change(2, modifiedAt: nil), change(2, modifiedAt: nil)], [1, 2],
            ["handled", "duplicate (done)"]
        ),
        (
            "two that were pushed at once are both left, whatever they say of the modification",
            [change(2, modifiedAt: 2), change(2, modifiedAt: 3)], [1, 2, 2],
            ["handled", "handled"]
        ),
        (
            "of many one is left", (2...40).map { change($0) }, [1, 40],
            Array(repeating: "superseded", count: 38) + ["handled"]
        ),
        (
            "one that is refused by the chain replaces nothing",
            [change(2), change(3, sender: "me")], [1, 2], ["handled", "looped (identity)"]
        ),
        (
            "one that was modified earlier and pushed later replaces nothing",
            [change(2, modifiedAt: 3), change(3, modifiedAt: 2)], [1, 2, 3], ["handled", "handled"]
        ),
        (
            "one of another object in its lane is left", [change(2), ServiceBench.payload(3, "p"), change(4)],
            [1, 4, 3], ["superseded", "handled", "handled"]
        ),
    ]

    @Test("a newer change takes the place of those that wait", arguments: bursts)
    func replaces(what: String, payloads: [RawPayload], handled: [Int], ends: [String]) async throws {
        let oneLane = OrderKey { _ in "all" }
        let delivery = DeliverySettings.with { ($0.replacesOlder, $0.orderKey) = (true, oneLane) }
        let gate = Gate()
        let inbox = SpyInbox()
        let bench = ServiceBench(inbox: inbox, delivery: delivery) { _, _ in await gate.wait() }
        bench.loopGuard.change(me: [.user(id: "me")], writesAs: []) { $0 }
        let (intake, run) = await bench.open()
        let first = try intake.submit([Self.change(1)])
        try await bench.calls(1)
        let receipts = try payloads.flatMap { try intake.submit([$0]) }
        gate.open()
        #expect(await (first + receipts).words() == ["handled"] + ends)
        #expect(bench.log.events == handled.map { "r \($0)" })
        // Each is known from now on.
        for payload in payloads.prefix(3) {
            let word = await intake.takeAndWait(payload)
            #expect(word == "duplicate (done)" || word == "looped (identity)")
        }
        #expect(try await bench.close(run) == DrainReport())
        #expect(inbox.disk.numbers == [])
        #expect(bench.receiver.metrics.received == 1 + payloads.count + min(payloads.count, 3))
    }

    @Test("a change has its turn when the newer one that replaced it is given up before the chain has passed it")
    func replacedByGivenUp() async throws {
        let delivery = DeliverySettings.with { ($0.replacesOlder, $0.attempts) = (true, 2) }
        let gate = Gate()
        let (inbox, store) = (SpyInbox(), ClosableStore())
        let bench = ServiceBench(inbox: inbox, delivery: delivery, store: store) { _, _ in await gate.wait() }
        bench.receiver.onDeadLetter { _ in store.isClosed.clear() }
        let (intake, run) = await bench.open()
        let receipts = try intake.submit([ServiceBench.payload(1)])
        try await bench.calls(1)
        let others = try (2...3).flatMap { try intake.submit([ServiceBench.payload($0)]) }
        store.isClosed.set()
        gate.open()
        try await bench.passTime { (receipts + others).allSatisfy { $0.word != "open" } }
        #expect((receipts + others).map(\.word) == ["handled", "handled", "deadLettered (failed)"])
        #expect(bench.log.events == ["r 1", "r 2"])
        #expect(try await bench.close(run) == DrainReport())
        #expect(inbox.disk.numbers == [])
    }

    @Test("a change is not replaced by one that goes to fewer routes")
    func replacesOnlyOfTheSameRoutes() async throws {
        let delivery = DeliverySettings.with { $0.replacesOlder = true }
        let gate = Gate()
        let bench = ServiceBench(routes: [], delivery: delivery)
        let log = bench.log
        bench.receiver.onPushToApp(
            id: "created", events: [.objectCreated], options: RouteOptions(then: .continue, delivery: delivery)
        ) { _, _ in
            log.add("created")
        }
        bench.receiver.onPushToApp(id: "any", options: RouteOptions(delivery: delivery)) { event, _ in
            log.add("any \(event.message.number)")
            await gate.wait()
        }
        let (intake, run) = await bench.open()
        let first = try intake.submit([ServiceBench.payload(1)])
        try await bench.calls(1)
        let receipts = try intake.submit([ServiceBench.payload(2, event: .objectCreated), ServiceBench.payload(3)])
        gate.open()
        #expect(await (first + receipts).words() == ["handled", "handled", "handled"])
        #expect(log.events == ["any 1", "created", "any 2", "any 3"])
        _ = try await bench.close(run)
    }
}

extension PushIntake {
    /// Hands a payload over, and waits for its end.
    func takeAndWait(_ payload: RawPayload) async -> String {
        do { return try await submitWaiting(payload).end()?.description ?? "left" } catch { return "\(error)" }
    }
}
