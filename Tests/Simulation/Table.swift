/// What one run measured, and what ran.
typealias Measured = (value: Double, name: String)
typealias Run = @Sendable (inout Dice) throws -> Measured

/// A row of the table: what is measured for each seed, and the bound of the most.
struct Row: Sendable {
    let words: String
    let unit: String
    let bound: Double?
    let runs: [Run]

    init(_ words: String, _ bound: Double?, _ unit: String, _ runs: [Run]) {
        (self.words, self.bound, self.unit, self.runs) = (words, bound, unit, runs)
    }
}

extension Row {
    private static let usual: [Traffic] = [.usual, .once, .manyAtFirst, .wakeUps]
    private static let drawn: [Traffic] = [.drawn, .byChance]

    static let all = [
        Row("changes of one object", 17, "s", late(.object, [.steady, .changing, .growing] + usual + drawn)),
        Row("of a steady stream, replaced by newer ones", nil, "%", late(.object, [.steady, .steady], isShare: true)),
        Row(
            "letters, streams, usual clusters and 1,900 at once", 60, "s",
            late(.letter, [.steady, .steady, .atOnce] + usual) + [crowd(.object, 5000, 5000)]),
        Row("letters, any clusters and paces that change", nil, "s", late(.letter, [.changing, .growing] + drawn)),
        Row(
            "new objects, commands, objects beside one that floods", 12, "s",
            [crowd(.object, 200, 5000), crowd(.command, 3, 120), besideFlood(50), besideFlood(.max)]),
        Row("a loop of one object", 800, "an hour", [loop(.object), fleet(.object)]),
        Row("a loop of letters", 2700, "an hour", [loop(.letter), fleet(.letter)]),
        Row(
            "a loop after or beside honest messages, or of devices that drop their own events", 3700, "an hour",
            [
                loop(.object, isBeside: true), loop(.letter, isBeside: true), fleet(.object, dropsOwn: true),
                fleet(.letter, dropsOwn: true),
            ]),
        Row(
            "loops that change object, topic or route, or take 3 to 15 s", 4500, "an hour",
            [
                loop(.object, isNew: true), loop(.letter, isNew: true), loop(.ownRoute, isNew: true),
                loop(.object, isSlow: true),
            ]),
        Row(
            "loops among some keys, slow or new ones beside honest messages, devices apart", nil, "an hour",
            [
                few(.object), few(.letter), few(.ownRoute), loop(.object, isSlow: true, isBeside: true),
                loop(.object, isNew: true, isBeside: true), loop(.letter, isNew: true, isBeside: true),
                loop(.ownRoute, isNew: true, isBeside: true), apart(.object), apart(.letter),
            ]),
    ]

    // MARK: Honest traffic

    /// How late the latest of a pattern was, or how many in a hundred a newer one has replaced.
    private static func late(_ subject: Subject, _ patterns: [Traffic], isShare: Bool = false) -> [Run] {
        patterns.map { pattern in
            { dice in
                let (name, times) = pattern.times(&dice)
                let device = try run(subject, times.map { Event(time: $0, isHonest: true) }, dice)
                return (isShare ? 100 * Double(device.superseded) / Double(device.honest) : device.latest, name)
            }
        }
    }

    private static func run(_ subject: Subject, _ plan: [Event], _ dice: Dice) throws -> Device {
        var world = World(subject, dice)
        try world.run(plan)
        return world.devices[0]
    }

    private static func crowd(_ subject: Subject, _ rate: Double, _ count: Double) -> Run {
        { dice in
            let isEven = dice.chance(0.3)
            let times = isEven ? evenly(rate, for: count / rate) : atRandom(rate, for: count / rate, &dice)
            let plan = times.enumerated().map { Event(time: $1, key: $0, isHonest: true) }
            return (try run(subject, plan, dice).latest, isEven ? "regular" : "by chance")
        }
    }

    /// Ten a second of so many objects beside one that changes 100 times a second.
    private static func besideFlood(_ objects: Int) -> Run {
        { dice in
            let others = atRandom(10, for: 180, &dice).enumerated()
            let plan = others.map { Event(time: $1, key: 1 + $0 % objects, isHonest: true) }
            let flood = evenly(100, for: 180).map { Event(time: $0) }
            let device = try run(.object, (plan + flood).sorted { $0.time < $1.time }, dice)
            return (device.latest, objects == 50 ? "50 objects" : "new ones")
        }
    }

    // MARK: Loops

    /// The busiest hour of a loop over devices that hear the same at the same time: they are as one device, all of
    /// whose answers come so many times.
    private static func loop(
        _ subject: Subject, isNew: Bool = false, isSlow: Bool = false, isBeside: Bool = false
    ) -> Run {
        { dice in
            var loop = anyLoop(&dice, isSlow ? (3, 14.99) : (0.02, 3))
            let devices = isNew ? dice.pick(1, 1, 2, 3, 5) : dice.pick(1, 1, 2, 5, 10, 30, 100)
            (loop.isNew, loop.fanOut) = (isNew, loop.fanOut * Double(devices))
            return try busiest(subject, loop, isBeside ? beside(&dice) : [], 1, dice, "\(devices) alike")
        }
    }

    /// The same for one device and a loop that goes round some objects, topics or routes.
    private static func few(_ subject: Subject) -> Run {
        { dice in
            var loop = anyLoop(&dice, (0.02, 3))
            (loop.isNew, loop.things) = (true, Int(dice.scale(2, 400)))
            return try busiest(subject, loop, [], 1, dice, "\(loop.things) of them")
        }
    }

    /// The same for devices that hear everything, or all that others have caused, half a second later than others at
    /// most, and whose clocks differ by as much.
    private static func fleet(_ subject: Subject, dropsOwn: Bool = false) -> Run {
        { dice in
            var loop = anyLoop(&dice, (0.02, 2.5))
            (loop.jitter, loop.clocks, loop.dropsOwn) = (0.5, 0.5, dropsOwn)
            let name = dropsOwn ? "a fleet that drops its own" : "a fleet"
            return try busiest(subject, loop, [], dice.pick(2, 3, 5, 10), dice, name)
        }
    }

    /// The same for devices that hear things at other times, or hear other things.
    private static func apart(_ subject: Subject) -> Run {
        { dice in
            var loop = anyLoop(&dice, (0.02, 3))
            let devices = dice.pick(2, 3, 5, 10)
            loop.part = dice.chance(0.3) ? 1 : dice.scale(min(1, 1.05 / (loop.fanOut * Double(devices))), 1)
            loop.skew = dice.chance(0.5) ? 0 : dice.scale(0.1, 5)
            return try busiest(subject, loop, [], devices, dice, "\(devices) apart")
        }
    }

    private static func anyLoop(_ dice: inout Dice, _ trips: (Double, Double)) -> Loop {
        let (one, other) = (dice.scale(trips.0, trips.1), dice.scale(trips.0, trips.1))
        let trip = dice.pick(
            (one, one), (min(one, other), max(one, other)), trips, (trips.1 * 0.9, trips.1), (trips.1, trips.1))
        var loop = Loop(fanOut: dice.chance(0.4) ? 1 : dice.scale(1, 8), trip: trip, isEither: dice.chance(0.3))
        loop.places = dice.pick(100, 100, 300, 1000)
        loop.starts = dice.pick(1, 2, 10, 20, 21, 40, 400)
        return loop
    }

    private static func beside(_ dice: inout Dice) -> [Double] {
        if dice.chance(0.2) { return cluster(400, at: 600, within: 60, &dice).sorted() }
        if dice.chance(0.2) { return Array(evenly(1 / dice.scale(0.01, 10), for: 7200).prefix(400)) }
        return atRandom(dice.scale(0.05, 5), for: 7200, &dice)
    }

    private static func busiest(
        _ subject: Subject, _ loop: Loop, _ honest: [Double], _ devices: Int, _ dice: Dice, _ name: String
    ) throws -> Measured {
        // The keys of what a loop causes are 0 and less.
        var plan = honest.enumerated().map {
            Event(time: $1, key: loop.isNew ? loop.starts + $0 : 0, isHonest: true)
        }
        for (device, start) in (0..<devices).flatMap({ device in (0..<loop.starts).map { (device, $0) } }) {
            plan.append(Event(time: Double(device) * loop.skew, device: device, key: loop.isNew ? start : 0))
        }
        var world = World(subject, dice, devices: devices, loop: loop)
        try world.run(plan.sorted { $0.time < $1.time }, until: 7200)
        let trips = "\(loop.trip.0.shown) to \(loop.trip.1.shown) s, \(loop.fanOut.shown) answers"
        let most = world.devices.map { $0.busiest(beside: honest) }.max() ?? 0
        return (most, "\(subject)s, \(name), \(loop.starts) start, \(trips), \(honest.count) beside")
    }
}

extension Double {
    /// With one digit behind the point, two if it is small.
    var shown: String { self < 1 ? "\((self * 100).rounded() / 100)" : "\((self * 10).rounded() / 10)" }
}
