import CAllocationCounter
import KiiPush

/// The documented Push to App sample of 227 bytes; from message to message its time changes, and of its object the
/// last three digits: nine hundred objects take turns.
private func samplePayload(when: Int, app: String) -> RawPayload {
    let object = "fedcba09-8765-4321-fedc-ba0987654\(100 + when % 900)"
    let text =
        #"{"aps":{"content-available":1},"bi":"bucketName","bt":"rw","oi":"\#(object)","#
        + #""sa":"\#(app)","st":"APP_AND_USER","su":"01234567-89ab-cdef-0123-456789abcdef","#
        + #""t":"DATA_OBJECT_CREATED","w":"# + "\(when)}"
    // An array of its own for each, as from a transport, and not the spare room of one that grew.
    return RawPayload([UInt8](text.utf8), transport: .apns)
}

/// Distinct payloads, no two of a run the same.
struct Payloads {
    /// The app that they name.
    private let app: String
    private var when = 1_403_844_866_395

    init(app: String = "0123abcd") { self.app = app }

    mutating func next(_ count: Int) -> [RawPayload] {
        (0..<count).map { _ in
            when += 1
            return samplePayload(when: when, app: app)
        }
    }
}

private let app = "0123abcd"

// MARK: Decode, classify, keys

func decodeRows(_ options: Options) throws -> [Row] {
    var source = Payloads()
    let payloads = source.next(1000)
    let messages = try payloads.map { try PushMessage($0) }
    try check(payloads.allSatisfy { $0.bytes.count == 227 }, "a sample of 227 bytes")
    for message in messages {
        try check(message.kind == .pushToApp && message.certainty == .certain, "a certain Push to App")
        try check(message.object?.id.hasPrefix("fedcba09-8765-4321-fedc-ba0987654") == true, "the sample's object")
    }
    let secret = DedupeSecret.random()
    let keys = messages.map { $0.dedupeKeys(app: app, secret: secret) }
    try check(Set(keys.map(\.primary)).count == 1000 && keys[0].strength == .strong, "a strong key each")
    return [
        measure("decode and classify", rounds: options.rounds, messages: 2000, prepare: {}) { _, number in
            use(try? PushMessage(payloads[number % 1000]))
        },
        measure("dedupe keys", rounds: options.rounds, messages: 2000, prepare: {}) { _, number in
            use(messages[number % 1000].dedupeKeys(app: app, secret: secret))
        },
    ]
}

// MARK: The whole

/// A receiver with `count` routes, each for a bucket of its own; the last one is the sample's.
private func receiver(
    routes count: Int, clock: any ReceiverClock = SystemClock(), middlewares: Int = 0,
    handler: @escaping @Sendable (BucketEvent, HandlerContext) async throws -> Void
) -> PushReceiver {
    let receiver = PushReceiver(app: app, clock: clock) {
        Deduplicator()
        LoopGuard(me: [.thing(id: "th.1")])
        ScopeFilter(serving: [.app, .user("*")])
        for _ in 0..<middlewares { OwnMiddleware() }
    }
    for number in 1..<count { receiver.onPushToApp(bucket: .exactly("bucket\(number)")) { _, _ in } }
    // A pace that a million messages a second do not exceed: each is counted, and none waits.
    let neverWaits = RouteOptions(pace: .every(.nanoseconds(1)))
    receiver.onPushToApp(id: "wanted", bucket: "bucketName", options: neverWaits, handler: handler)
    return receiver
}

/// A middleware as a user may write it: it looks at the message, and is told the outcome.
private struct OwnMiddleware: Middleware {
    func admit(_ message: inout RoutedMessage) -> Verdict { message.id == 0 ? .refuse("no number") : .pass }
    func settle(_ message: RoutedMessage, _ outcome: Outcome) { use(message.id) }
}

/// A receiver whose handler reads bucket, object and scope.
func readingReceiver(
    routes: Int = 100, clock: any ReceiverClock = SystemClock(), middlewares: Int = 0
) -> PushReceiver {
    receiver(routes: routes, clock: clock, middlewares: middlewares) { event, _ in
        use(event.bucket)
        use(event.object)
        use(event.scope)
    }
}

func wholeRows(_ options: Options) async throws -> [Row] {
    let watched = readingReceiver(middlewares: 1)
    watched.onTrace { use($0.outcome) }
    return [
        try await whole("whole, handler reads nothing", options, receiver(routes: 100) { _, _ in }),
        try await whole("whole", options, readingReceiver()),
        try await whole("whole, 10 routes", options, readingReceiver(routes: 10)),
        try await whole("whole, 10,000 routes", options, readingReceiver(routes: 10_000)),
        try await whole("whole, own middleware", options, readingReceiver(middlewares: 1)),
        try await whole("whole, own middleware and trace listener", options, watched),
        try await whole("one of another app", options, readingReceiver(), app: "other567", ends: "refused"),
        try await duplicates(options),
    ]
}

private func whole(
    _ name: String, _ options: Options, _ receiver: PushReceiver, app: String = "0123abcd", ends: String = "handled"
) async throws -> Row {
    var source = Payloads(app: app)
    let count = 2000
    // The index of the routes is made with the first message.
    use(await receiver.receive(source.next(1)[0]))
    let row = await measure(name, rounds: options.rounds, messages: count, receiver) { source.next(count) }
    let sent = (options.rounds + 1) * count + 1
    try check(receiver.metrics.received == sent, "every message received")
    try check(receiver.metrics.count(ends) == sent, "every message \(ends)")
    return row
}

/// Times messages that have been handled before.
private func duplicates(_ options: Options) async throws -> Row {
    var source = Payloads()
    let (receiver, payloads) = (readingReceiver(), source.next(2000))
    for payload in payloads { use(await receiver.receive(payload)) }
    let row = await measure("a duplicate", rounds: options.rounds, messages: 2000, receiver) { payloads }
    try check(receiver.metrics.count("duplicate") == (options.rounds + 1) * 2000, "every message a duplicate")
    return row
}
