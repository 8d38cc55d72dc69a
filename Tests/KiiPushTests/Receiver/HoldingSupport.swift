import KiiPushTesting
import Synchronization

@testable import KiiPush

/// A receiver whose guard lets one message of an object pass in ten seconds, and all that can be seen of it.
struct HoldingBench {
    let clock = ManualClock()
    let store = SpyStore()
    let letters: InMemoryDeadLetterStore
    let loopGuard: LoopGuard
    let receiver: PushReceiver
    /// What the handlers were called with: the route's id and the message's number.
    let log = EventLog()
    /// While it is set, handlers throw.
    let isFailing = Flag()
    /// Whether it gets messages of topics, not of objects: no newer one takes an older one's place.
    private let isTopic: Bool

    /// - Parameters:
    ///   - routes: the ids of the routes, each with what the loop guard does for it.
    ///   - rate: how many messages of an object pass where a route says nothing else.
    ///   - letters: where messages are dead-lettered.
    ///   - isTopic: whether it gets messages of topics.
    ///   - stage: what a stage behind the guard does to a message.
    init(
        _ routes: [(id: String, loop: RouteLoopPolicy)] = [("r", .standard)], rate: LoopRate = LoopRate(messages: 1),
        letters: InMemoryDeadLetterStore = InMemoryDeadLetterStore(), isTopic: Bool = false,
        stage: @escaping @Sendable (inout RoutedMessage) -> Verdict = { _ in .pass }
    ) {
        self.letters = letters
        self.isTopic = isTopic
        let (clock, store, log, isFailing) = (clock, store, log, isFailing)
        let loopGuard = LoopGuard(settings: LoopSettings(rate: rate), clock: clock)
        self.loopGuard = loopGuard
        receiver = PushReceiver(app: "0123abcd", clock: clock, deadLetters: letters) {
            Deduplicator(store: store, secret: .published, clock: clock)
            loopGuard
            ClosureStage(answer: stage)
        }
        for route in routes {
            receiver.onAny(route.id, options: RouteOptions(then: .continue, loop: route.loop)) { message, context in
                log.add("\(context.route) \(message.benchNumber)")
                if isFailing.isSet { throw TestError() }
                if route.loop.ownBucket == .refuse {
                    _ = try context.willCreate(in: KiiBucket(scope: .app, name: "settings"))
                }
            }
        }
    }

    func payload(_ number: Int, _ object: String = "o", _ style: PayloadFixture.KeyStyle = .long) -> RawPayload {
        let sentAt = 1_000_000 + Int64(number)
        if isTopic { return PayloadFixture.pushToUser(topic: object, sender: nil, sentAt: sentAt).payload(style) }
        return PayloadFixture.pushToApp(object: object, sender: nil, sentAt: sentAt, modifiedAt: Int64(number))
            .payload(style)
    }

    /// Sends a message of a number of its own.
    func send(_ number: Int, _ object: String = "o") async -> String {
        await receiver.receive(payload(number, object)).description
    }

    func handleDue() async -> [String] { await receiver.handleDue().map(\.description) }

    /// Lets time pass until nothing is held, or two minutes are over; returns the outcomes in their order.
    func letGo() async -> [String] {
        var outcomes: [String] = []
        for _ in 0..<480 where !receiver.held.isEmpty {
            clock.advance(by: .milliseconds(250))
            outcomes += await handleDue()
        }
        return outcomes
    }

    /// Lets so many seconds pass; after five of them the oldest is tried, and after two more the others follow.
    func wait(_ seconds: Int64) { clock.advance(by: .seconds(seconds)) }

    /// How many leases there are that have not ended.
    var leases: Int {
        store.log.events.reduce(0) { $0 + ($1 == "fresh" ? 1 : ["commit", "release"].contains($1) ? -1 : 0) }
    }
}

/// A stage that does what a test says.
struct ClosureStage: Middleware {
    let answer: @Sendable (inout RoutedMessage) -> Verdict

    func admit(_ message: inout RoutedMessage) -> Verdict { answer(&message) }
}

/// What became of one held message, told when it is.
final class EndLog: Sendable {
    let log = EventLog()
    private let task: Mutex<Task<Void, Never>?> = Mutex(nil)

    init(_ held: [HeldMessage]) {
        let log = log
        let all = Task {
            for one in held {
                log.add("\(one.message.benchNumber): \(await one.end()?.description ?? "nil")")
            }
        }
        task.withLock { $0 = all }
    }

    /// Waits for the ends of all of them.
    func ends() async -> [String] {
        await task.withLock { $0 }?.value
        return log.events
    }
}

extension PushMessage {
    /// The number that a bench gave it; -1 where none did.
    var benchNumber: Int64 { modifiedAt ?? sentAt.flatMap { $0 >= 1_000_000 ? $0 - 1_000_000 : nil } ?? -1 }
}
