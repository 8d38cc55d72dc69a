/// What one run of a row measured, and what ran.
typealias Measured = (value: Double, name: String)

/// A row of the table: what is measured for each seed, and the bound of the most.
struct Row: Sendable {
    let words: String
    var bound: Double?
    let unit: String
    let runs: [@Sendable (inout Dice) throws -> Measured]
}

extension Row {
    static let all = honest + crowds + loops

    // MARK: Honest traffic

    private static let steady: [Stream] = [.regular, .byChance, .usual, .usualByChance]
    private static let unsteady: [Stream] = [.changing, .growing]
    private static let usual: [Clusters] = [.usual, .once, .manyAtFirst, .wakeUps]
    private static let drawn: [Clusters] = [.regular, .byChance]

    private static let honest = [
        late("changes of one object, a steady stream", 17, .object, steady.map { $0.times }),
        late("of these, replaced by a newer one", nil, .object, steady.map { $0.times }, isShare: true),
        late("changes of one object, paces that change or grow", 17, .object, unsteady.map { $0.times }),
        late("changes of one object, in clusters", 17, .object, (usual + drawn).map { $0.times }),
        late("letters, a steady stream", 60, .letter, steady.map { $0.times }),
        late("letters, paces that change or grow", nil, .letter, unsteady.map { $0.times }),
        late("letters, in usual clusters", 60, .letter, usual.map { $0.times }),
        late("letters, in any clusters", nil, .letter, drawn.map { $0.times }),
    ]

    private static func late(
        _ words: String, _ bound: Double?, _ subject: Subject, _ patterns: [@Sendable (inout Dice) -> Times],
        isShare: Bool = false
    ) -> Row {
        Row(
            words: words, bound: bound, unit: isShare ? "%" : "s",
            runs: patterns.map { late(subject, $0, isShare: isShare) })
    }

    /// How late the latest of a pattern was, or how many in a hundred a newer one has replaced.
    private static func late(
        _ subject: Subject, _ times: @escaping @Sendable (inout Dice) -> Times, isShare: Bool
    ) -> @Sendable (inout Dice) throws -> Measured {
        { dice in
            let (name, times) = times(&dice)
            let result = try run(subject, times.map { Event(time: $0, isHonest: true) }, dice)
            return (isShare ? 100 * Double(result.superseded) / Double(result.honest) : result.latest, name)
        }
    }

    private static func run(_ subject: Subject, _ plan: [Event], _ dice: Dice) throws -> RunResult {
        var world = World(subject, dice)
        try world.run(plan)
        return world.devices[0].result
    }

    // MARK: Many keys

    private static let crowds = [
        Row(words: "5,000 new objects, 200 a second", bound: 12, unit: "s", runs: [crowd(.object, 200, 5000)]),
        Row(words: "120 commands, 3 a second", bound: 12, unit: "s", runs: [crowd(.command, 3, 120)]),
        Row(words: "other objects beside one that floods", bound: 10, unit: "s", runs: [besideFlood(50), besideFlood(1_000_000)]),
    ]

    private static func crowd(_ subject: Subject, _ rate: Double, _ count: Int) -> @Sendable (inout Dice) throws -> Measured {
        { dice in
            let isRegular = dice.chance(0.5)
            let seconds = Double(count) / rate
            let times = isRegular ? evenly(rate, for: seconds) : atRandom(rate, for: seconds, &dice)
            let plan = times.enumerated().map { Event(time: $1, key: $0, isHonest: true) }
            return (try run(subject, plan, dice).latest, isRegular ? "regular" : "by chance")
        }
    }

    /// Ten a second of so many objects beside one that changes 100 times a second.
    private static func besideFlood(_ objects: Int) -> @Sendable (inout Dice) throws -> Measured {
        { dice in
            let others = atRandom(10, for: 180, &dice).enumerated()
            let flood = evenly(100, for: 180).map { Event(time: $0) }
            let plan = flood + others.map { Event(time: $1, key: 1 + $0 % objects, isHonest: true) }
            return (try run(.object, plan.sorted { $0.time < $1.time }, dice).latest, objects == 50 ? "50 objects" : "new ones")
        }
    }

    // MARK: Loops

    private static let loops = [
        Row(words: "a loop of one object", bound: 800, unit: "an hour", runs: [handled(.object), handled(.object, isBeside: true)]),
        Row(words: "a loop of letters", bound: 4500, unit: "an hour", runs: [handled(.letter)]),
        Row(words: "a loop of letters beside honest ones", unit: "an hour", runs: [handled(.letter, isBeside: true)]),
        Row(
            words: "loops that change object, topic or route", bound: 4500, unit: "an hour",
            runs: [handled(.object, isNew: true), handled(.letter, isNew: true), handled(.ownRoute, isNew: true)]),
        Row(words: "a loop of one object, round trips of 3 to 15 s", bound: 4500, unit: "an hour", runs: [handled(.object, isSlow: true), handled(.object, isSlow: true, isBeside: true)]),
        Row(words: "devices that hear different things", unit: "an hour", runs: [apart(.object), apart(.letter)]),
    ]

    /// The busiest hour of a loop over devices that hear the same at the same time: they are as one device, all of
    /// whose answers come so many times.
    private static func handled(
        _ subject: Subject, isNew: Bool = false, isSlow: Bool = false, isBeside: Bool = false
    ) -> @Sendable (inout Dice) throws -> Measured {
        { dice in
            var loop = anyLoop(&dice, isSlow ? (3, 15) : (0.02, 3))
            loop.isNew = isNew
            let devices = isNew ? dice.pick(1, 1, 2, 3, 5) : dice.pick(1, 1, 2, 5, 10, 30, 100)
            loop.fanOut *= Double(devices)
            return try busiest(subject, loop, isBeside ? beside(&dice) : [], 1, dice, "\(devices) alike")
        }
    }

    /// The same for devices that do not.
    private static func apart(_ subject: Subject) -> @Sendable (inout Dice) throws -> Measured {
        { dice in
            var loop = anyLoop(&dice, (0.02, 3))
            let devices = dice.pick(2, 3, 5, 10)
            loop.part = dice.chance(0.3) ? 1 : dice.scale(min(1, 1.05 / (loop.fanOut * Double(devices))), 1)
            loop.skew = dice.chance(0.5) ? 0 : dice.scale(0.1, 5)
            return try busiest(subject, loop, [], devices, dice, "\(devices) apart")
        }
    }

    private static func anyLoop(_ dice: inout Dice, _ trips: (Double, Double)) -> Loop {
        var loop = Loop()
        loop.fanOut = dice.chance(0.4) ? 1 : dice.scale(1, 8)
        let (one, other) = (dice.scale(trips.0, trips.1), dice.scale(trips.0, trips.1))
        loop.trip = dice.pick(
            (one, one), (min(one, other), max(one, other)), trips, (trips.0, trips.1 - 0.01),
            (trips.1 - 0.01, trips.1 - 0.01), (trips.1 * 0.9, trips.1))
        loop.isEither = dice.chance(0.3)
        loop.places = dice.pick(100, 100, 300, 1000)
        loop.starts = dice.pick(1, 2, 10, 20, 21, 40, 400)
        loop.gap = dice.chance(0.5) ? 0 : dice.scale(0.01, 10)
        return loop
    }

    private static func beside(_ dice: inout Dice) -> [Double] {
        dice.chance(0.8)
            ? atRandom(dice.scale(0.05, 5), for: 7200, &dice) : (0..<400).map { _ in dice.between(600, 660) }.sorted()
    }

    private static func busiest(
        _ subject: Subject, _ loop: Loop, _ honest: [Double], _ devices: Int, _ dice: Dice, _ name: String
    ) throws -> Measured {
        let starts = (0..<devices).flatMap { device in
            (0..<loop.starts).map {
                let time = Double($0) * loop.gap + Double(device) * loop.skew
                return Event(time: time, device: device, key: loop.isNew ? $0 : 0)
            }
        }
        let plan = starts + honest.map { Event(time: $0, isHonest: true) }
        var world = World(subject, dice, devices: devices, loop: loop)
        try world.run(plan.sorted { $0.time < $1.time }, until: 7200)
        let most = world.devices.map { $0.result.busiest(beside: honest) }.max() ?? 0
        let (trip, beside) = (loop.trip, honest.isEmpty ? "" : ", beside \(honest.count)")
        return (most, "\(subject)s, \(name), \(loop.starts) start, trips \(trip.0.shown) to \(trip.1.shown) s, \(loop.fanOut.shown) answers\(beside)")
    }
}

extension Double {
    /// With one digit behind the point, two if it is small.
    var shown: String { self < 1 ? "\((self * 100).rounded() / 100)" : "\((self * 10).rounded() / 10)" }
}
