import KiiPushTesting
import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

/// A receiver whose loop guard lets messages wait, a transport that delivers them again, and all that one sees of it.
struct PacingBench {
    let clock = ManualClock()
    let store = SpyStore()
    let loopGuard: LoopGuard
    let receiver: PushReceiver
    let test: TestReceiver
    /// What the handlers were called with: the route's id and the message's number.
    let log = EventLog()
    /// While it is set, handlers throw.
    let isFailing = Flag()
    /// Whether it gets messages of topics, not of objects: no newer one takes an older one's place.
    private let isTopic: Bool

    /// - Parameters:
    ///   - routes: the ids of the routes, each with its pace.
    ///   - isTopic: whether it gets messages of topics.
    ///   - middleware: what a middleware behind the guard does to a message.
    init(
        _ routes: [(id: String, pace: RoutePace)] = [("r", .every(.seconds(8)))], isTopic: Bool = false,
        middleware: @escaping @Sendable (inout RoutedMessage) -> Verdict = { _ in .pass }
    ) {
        self.isTopic = isTopic
        let (clock, store, log, isFailing) = (clock, store, log, isFailing)
        let loopGuard = LoopGuard(clock: clock)
        self.loopGuard = loopGuard
        receiver = PushReceiver(app: "0123abcd", clock: clock) {
            Deduplicator(store: store, secret: .published, clock: clock)
            loopGuard
            ClosureMiddleware(answer: middleware)
        }
        for route in routes {
            receiver.onAny(id: route.id, options: RouteOptions(then: .continue, pace: route.pace)) { message, context in
                log.add("\(context.route) \(message.benchNumber)")
                if isFailing.isSet { throw TestError() }
            }
        }
        test = TestReceiver(receiver, clock)
    }

    func payload(_ number: Int, _ object: String = "o", _ style: PayloadFixture.KeyStyle = .long) -> RawPayload {
        let sentAt = 1_000_000 + Int64(number)
        if isTopic { return PayloadFixture.pushToUser(topic: object, sender: nil, sentAt: sentAt).payload(style) }
        return PayloadFixture.pushToApp(object: object, sender: nil, sentAt: sentAt, modifiedAt: Int64(number))
            .payload(style)
    }

    /// Sends a message of a number of its own; one that must wait is delivered again when time passes.
    @discardableResult
    func send(_ number: Int, _ object: String = "o") async -> String {
        await test.send(payload(number, object)).outcome.description
    }

    /// Sends twenty messages at once, which all pass.
    func spend(_ object: String = "o", from first: Int = 1) async {
        for number in first..<first + 20 { #expect(await send(number, object) == "handled") }
    }

    /// Lets seconds pass; returns the messages that ended, each with its number.
    func pass(_ seconds: Double) async -> [String] {
        await test.advance(by: .seconds(seconds)).map { "\($0.trace.message?.benchNumber ?? -1) \($0.outcome)" }
    }

    /// How many messages wait, as far as the guard knows.
    var waiting: Int { loopGuard.paced.reduce(0) { $0 + $1.waiting } }

    /// How many leases there are that have not ended.
    var leases: Int {
        store.log.events.reduce(0) { $0 + ($1 == "fresh" ? 1 : ["commit", "release"].contains($1) ? -1 : 0) }
    }
}

/// A middleware that does what a test says.
struct ClosureMiddleware: Middleware {
    let answer: @Sendable (inout RoutedMessage) -> Verdict

    func admit(_ message: inout RoutedMessage) -> Verdict { answer(&message) }
}

extension PushMessage {
    /// The number that a bench gave it; -1 where none did.
    var benchNumber: Int64 { modifiedAt ?? sentAt.flatMap { $0 >= 1_000_000 ? $0 - 1_000_000 : nil } ?? -1 }
}
