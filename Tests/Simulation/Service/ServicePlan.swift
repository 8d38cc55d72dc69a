import KiiPush
import KiiPushDelivery
import KiiPushTesting

/// The choices of a run, from its seed: settings, traffic, and rates of failures.
struct ServicePlan: Sendable {
    let seed: UInt64
    let isDurable: Bool
    /// Whether the deduplication store survives a crash.
    let isSeenDurable: Bool
    /// How many routes match each message; one more matches only those of one bucket.
    let routes: Int
    let objects: Int
    let messages: Int
    let settings: ServiceSettings
    let delivery: DeliverySettings
    /// Whether messages wait for the pace of their object.
    let isPaced: Bool
    /// How many processes crash, and how many are stopped.
    let crashes: Int
    let stops: Int
    /// The percentage of handler calls that throw, and of those that return only when they are cancelled.
    let failures: Int
    let hangs: Int
    /// The longest times of a handler and of a write to the inbox, in milliseconds.
    let handling: Int
    let writing: Int
    /// The percentage of acknowledgements that do not arrive.
    let lostAcknowledgements: Int
    let isDiskFailing: Bool
    /// The percentage of pushes that repeat a message.
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
        isPaced = pick(true, false)
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

    /// Whether messages of one object are handled in order.
    ///
    /// False if the settings say so; or if newer messages replace older ones, one of which a crash may leave behind.
    var isOrdered: Bool {
        delivery.order == .object && delivery.onFailure == .block && !delivery.replacesOlder
    }

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
    /// The choices on one line.
    var description: String {
        let pace = isPaced ? "paced" : "any pace"
        let stores = "inbox \(isDurable ? "on disk" : "in memory"), seen \(isSeenDurable ? "on disk" : "in memory")"
        return "\(stores), "
            + "\(routes) routes, \(objects) objects, \(messages) messages, \(settings.concurrency) at once, \(settings.inFlight) in flight, "
            + "\(settings.messages) places, \(delivery.attempts) attempts, order \(delivery.order), "
            + "\(delivery.onFailure), \(delivery.replacesOlder ? "replaces older, " : "")\(pace), \(crashes) crashes, "
            + "\(stops) stops, failures \(failures), hangs \(hangs), lost acks \(lostAcknowledgements), "
            + "disk \(isDiskFailing ? "fails" : "well"), copies \(copies)"
    }
}
