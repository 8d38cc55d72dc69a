/// Counts the held messages of a wide key by narrower key, to estimate the pace of each narrower key.
///
/// Fifty objects that change once a second each are one stream of their route. Once the route's breaker has shown that
/// it is caused elsewhere, the breakers of the objects need not test the same fifty times.
struct PartTally {
    /// How many narrower keys are counted; a message of any further key counts as the only one of its key.
    static let mostKeys = 128

    private var counts: [UInt64: Int] = [:]
    private var total = 0
    /// The sum over all messages of the number of other messages of the same key.
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

    /// The average pace of a message's key, without the message itself, in messages a second.
    ///
    /// A busy key counts for more than an idle one; keys with one message each have no pace.
    func pace(in seconds: Double) -> Double {
        total > 0 ? Double(others) / Double(total) / max(seconds, 0.5) : 0
    }
}

/// The tallies of one wide key.
struct PartTallies {
    private var objects = PartTally()
    private var buckets = PartTally()
    private var routes = PartTally()

    /// Records a message that a breaker holds.
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

/// The paces of narrower keys in the stream of a wide one, in messages a second.
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
