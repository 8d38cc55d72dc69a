import KiiPush
import KiiPushDelivery
import KiiPushTesting

/// All that a run chooses, from its seed: settings, traffic, and how often what fails.
struct ServicePlan: Sendable {
    let seed: UInt64
    let isDurable: Bool
    /// Whether what was handled is still known after a crash.
    let isSeenDurable: Bool
    /// How many routes take each message; one more takes those of every third object only.
    let routes: Int
    let objects: Int
    let messages: Int
    let settings: ServiceSettings
    let delivery: DeliverySettings
    /// How many messages of one object pass in ten seconds, of a run with a loop guard that holds.
    let rate: Int?
    /// How many processes end in the middle of their work, and how many are asked to end.
    let crashes: Int
    let stops: Int
    /// Of a hundred calls of a handler, how many throw, and how many return only when they are cancelled.
    let failures: Int
    let hangs: Int
    /// The longest that a handler and a write to the inbox take, in milliseconds.
    let handling: Int
    let writing: Int
    /// Of a hundred acknowledgements, how many do not arrive.
    let lostAcknowledgements: Int
    let isDiskFailing: Bool
    /// Of a hundred pushes, how many are of a message that was pushed before.
    let copies: Int

    init(seed: UInt64) {
        var dice = SeededGenerator(seed: seed)
        func pick<Value>(_ values: Value...) -> Value { values[Int(dice.next() % UInt64(values.count))] }
        self.seed = seed
        isDurable = pick(true, true, true, false)
        isSeenDurable = pick(true, false)
        routes = pick(1, 1, 2, 3)
        objects = pick(1, 2, 5, 20)
        messages = pick(10, 30, 60, 100)
        var settings = ServiceSettings()
        settings.concurrency = pick(1, 2, 4, 8)
        settings.messages = pick(4, 16, 64, 1000)
        settings.drain = .milliseconds(pick(0, 50, 1000))
        settings.grace = .milliseconds(pick(0, 50, 1000))
        var delivery = DeliverySettings()
        delivery.attempts = pick(1, 2, 5, 1000)
        delivery.backoff = .milliseconds(pick(1, 20, 200))
        delivery.timeout = .milliseconds(pick(500, 5000))
        delivery.onFailure = pick(.block, .block, .skip)
        delivery.order = pick(.object, .object, .object, .none)
        delivery.replacesOlder = pick(false, false, false, true)
        self.delivery = delivery
        rate = pick(nil, nil, 3, 10)
        crashes = pick(0, 1, 2, 4)
        stops = pick(0, 1, 2)
        failures = pick(0, 5, 30, 60)
        hangs = pick(0, 0, 2)
        handling = pick(0, 5, 50)
        writing = pick(0, 4, 40, 200)
        lostAcknowledgements = pick(0, 0, 10)
        isDiskFailing = pick(true, false)
        copies = pick(0, 5, 20)
        settings.inFlight = pick(1, 6, 64)
        self.settings = settings
    }

    /// Whether messages of one object are handled in their order.
    ///
    /// Not where the settings say otherwise; nor where a newer one replaces older ones, of which a crash may leave one
    /// behind; nor where a breaker of one route holds a message that others handle.
    var isOrdered: Bool {
        delivery.order == .object && delivery.onFailure == .block && !delivery.replacesOlder
            && (rate == nil || routes == 1 && objects == 1)
    }

    /// Whether nothing may be lost.
    ///
    /// With an inbox in memory, something may be where a breaker holds a message for one route that others have
    /// handled: at a crash, where the deduplication store survives, which knows it as handled; and where the dead
    /// letters fail.
    var isSafe: Bool { isDurable || rate == nil || !isSeenDurable && !isDiskFailing }

    func object(of number: Int) -> Int { number % objects }

    func payload(_ number: Int) -> RawPayload {
        PayloadFixture.pushToApp(
            bucket: "b\(object(of: number) % 2)", object: "o\(object(of: number))", sentAt: 1_000_000 + Int64(number),
            modifiedAt: Int64(number)
        ).payload(.long)
    }

    /// The number that ``payload(_:)`` gave a message.
    static func number(of message: PushMessage) -> Int { Int((message.sentAt ?? 0) - 1_000_000) }
}

extension ServicePlan: CustomStringConvertible {
    /// What the run chose, on one line.
    var description: String {
        let rate = rate.map { "\($0) in 10 s" } ?? "any rate"
        let stores = "inbox \(isDurable ? "on disk" : "in memory"), seen \(isSeenDurable ? "on disk" : "in memory")"
        return "\(stores), "
            + "\(routes) routes, \(objects) objects, \(messages) messages, \(settings.concurrency) at once, \(settings.inFlight) in flight, "
            + "\(settings.messages) places, \(delivery.attempts) attempts, order \(delivery.order), "
            + "\(delivery.onFailure), \(delivery.replacesOlder ? "replaces older, " : "")\(rate), \(crashes) crashes, "
            + "\(stops) stops, failures \(failures), hangs \(hangs), lost acks \(lostAcknowledgements), "
            + "disk \(isDiskFailing ? "fails" : "well"), copies \(copies)"
    }
}
