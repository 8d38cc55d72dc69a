/// How often held messages of a wide key were of one and the same narrower key: what pace each of these has.
///
/// Fifty objects that change once a second each are one stream of their route. Once the route's breaker has shown that
/// nobody here causes it, the breakers of the objects need not find out the same fifty times.
struct PartTally {
    /// How many narrower keys are counted; a message of any other counts as the only one of its key.
    static let mostKeys = 128

    private var counts: [UInt64: Int] = [:]
    private var total = 0
    /// How many others of its key each message has, in all.
    private var others = 0

    mutating func add(_ key: ResourceKey) {
        total += 1
        let id = key.digest.first
        if let count = counts[id] {
            others += 2 * count
            counts[id] = count + 1
        } else if counts.count < Self.mostKeys {
            counts[id] = 1
        }
    }

    /// How many others of its key come in a second beside a message, on average.
    ///
    /// So a busy key counts for more than an idle one, and keys that have one message each have no pace.
    func pace(in seconds: Double) -> Double {
        total > 0 ? Double(others) / Double(total) / max(seconds, 0.5) : 0
    }
}

/// The tallies of one wide key.
struct PartTallies {
    private var objects = PartTally()
    private var buckets = PartTally()
    private var routes = PartTally()

    /// Takes down a message that a breaker holds.
    mutating func add(_ keys: RateKeys, heldBy level: BreakerLevel) {
        guard level != .object else { return }
        objects.add(keys.narrow)
        guard level != .bucket else { return }
        if let wide = keys.wide { buckets.add(wide) }
        if level == .device { routes.add(keys.route) }
    }

    func paces(in seconds: Double) -> PartPaces {
        PartPaces(
            object: objects.pace(in: seconds), bucket: buckets.pace(in: seconds), route: routes.pace(in: seconds))
    }
}

/// What pace narrower keys have in the stream of a wide one, in messages a second.
struct PartPaces {
    var object = 0.0
    var bucket = 0.0
    var route = 0.0

    subscript(level: BreakerLevel) -> Double {
        switch level {
        case .object: object
        case .bucket: bucket
        case .route: route
        case .device: 0
        }
    }
}
