import KiiPush
import KiiPushTesting
import Synchronization

/// A pattern of messages that the device does not cause.
enum HonestPattern: Hashable {
    /// A number a second of one object.
    case stream(Double, isRegular: Bool)
    /// A number a second of one object, by chance, for two hours.
    case lasting(Double)
    /// The same, but the pace is between half and twice that number, and changes every three minutes.
    case changing(Double)
    /// A number a second, each of a new object in one bucket.
    case newObjects(Double, isRegular: Bool)
    /// A number a second, each of one of fifty objects in ten buckets.
    case manyObjects(Double)
    /// A number at once of one object, and then a number a second.
    case burst(Int, behind: Double)
    /// An average number a second of one object, in clusters of about a given size within seconds.
    case clusters(Int, Double)
    /// Of one object, from one in two seconds to twenty a second within a number of seconds, then at that pace for two
    /// minutes.
    case growing(Double)
    /// 5,000 new objects of a bucket, 200 a second.
    case importing
    /// Ten minutes of one object's messages, at a pace, arriving at once; six times.
    case wakeUps(Double)

    var name: String {
        switch self {
        case .stream(let pace, let isRegular): "\(plain(pace))/s, \(isRegular ? "regular" : "by chance")"
        case .lasting(let pace): "two hours of \(plain(pace))/s by chance"
        case .changing(let pace): "two hours of \(plain(pace))/s, changing"
        case .newObjects(let pace, let isRegular):
            "\(plain(pace))/s, new objects, \(isRegular ? "regular" : "by chance")"
        case .manyObjects(let pace): "\(plain(pace))/s, fifty objects, by chance"
        case .burst(let count, let pace): "\(count) at once, \(plain(pace))/s behind"
        case .clusters(let size, let pace): "\(plain(pace))/s, in clusters of \(size)"
        case .growing(let seconds): "from 0.5/s to 20/s in \(plain(seconds)) s"
        case .importing: "import: 5,000 new objects, 200/s"
        case .wakeUps(let pace): "wake-ups: 10 minutes of \(plain(pace))/s at once"
        }
    }

    /// By how many seconds a message may be late.
    var mostLate: Double {
        switch self {
        case .stream, .lasting, .changing, .newObjects, .manyObjects, .importing: 8
        case .burst, .clusters, .growing, .wakeUps: 30
        }
    }

    /// Whether a delay of at most a minute is guaranteed even if chance deceives the guard.
    ///
    /// It is not for clusters, which may follow each try like answers, nor for a growing pace, like that of a loop.
    var isBounded: Bool {
        switch self {
        case .clusters, .growing: false
        default: true
        }
    }

    static let paces = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200]

    static let all: [HonestPattern] =
        paces.flatMap { pace in [true, false].map { .stream(pace, isRegular: $0) } }
        + [0.5, 1, 2, 5, 10].map { .lasting($0) } + [0.5, 1, 2, 5].map { .changing($0) }
        + paces.flatMap { pace in [true, false].map { .newObjects(pace, isRegular: $0) } }
        + paces.map { .manyObjects($0) }
        + [60, 400].flatMap { count in [0, 0.3, 3, 50].map { .burst(count, behind: $0) } }
        + [3, 8, 20].flatMap { size in [1, 5].map { .clusters(size, $0) } }
        + [20, 60, 300].map { .growing($0) }
        + [.importing] + [0.1, 0.3, 1].map { .wakeUps($0) }
}

/// A number without a superfluous fraction.
func plain(_ number: Double) -> String { number == number.rounded() ? "\(Int(number))" : "\(number)" }

/// One device that gets honest messages of a pattern, from one seed.
struct HonestRun {
    let pattern: HonestPattern
    let seed: UInt64

    struct Result {
        var messages = 0
        /// How many were not handled in the end, and how many of these are dead letters.
        var lost = 0, deadLetters = 0
        /// The longest delay, in seconds; how many messages were late by more than a second, and in how many periods,
        /// eight seconds apart.
        var latest = 0.0
        var late = 0, times = 0
        /// How many were late by less, as in a short pause of their key.
        var paused = 0
    }

    func run() async -> Result {
        let fleet = SimulatedFleet(devices: 1, seed: seed, sample: .seconds(3600)) { device in
            let receiver = PushReceiver(app: SimulatedCloud.app, me: [device.identity], clock: device.clock)
            receiver.onPushToApp("honest", bucket: "*") { _, _ in }
            return receiver
        }
        var result = Result()
        var handlings: [(arrival: Double, delay: Double)] = []
        fleet.onHandled = { handlings.append(($0.arrivedAt / .seconds(1), $0.delay / .seconds(1))) }
        let random = Generator(seed)
        plan(fleet, random)
        let report = await fleet.run(for: .seconds(12 * 3600))
        result.messages = report.events
        result.lost = report.unhandled + report.stopped
        result.deadLetters = report.stopped
        var end = -1.0
        for (arrival, delay) in handlings.sorted(by: { $0.arrival < $1.arrival }) {
            result.latest = max(result.latest, delay)
            if delay > 0, delay <= 1 { result.paused += 1 }
            guard delay > 1 else { continue }
            result.late += 1
            // Messages within some seconds are late for the same reason.
            if arrival > end + 8 { result.times += 1 }
            end = max(end, arrival + delay)
        }
        return result
    }

    private func plan(_ fleet: SimulatedFleet, _ random: Generator) {
        switch pattern {
        case .stream(let pace, let isRegular):
            stream(fleet, random, pace, isRegular, from: 0.1, for: Self.length(pace)) { _ in ("sensors", "power") }
        case .lasting(let pace):
            stream(fleet, random, pace, false, from: 0.1, for: 7200) { _ in ("sensors", "power") }
        case .changing(let pace):
            for part in 0..<40 {
                let changed = pace * power(2, 2 * random.fraction() - 1)
                stream(fleet, random, changed, false, from: 0.1 + 180 * Double(part), for: 180) { _ in
                    ("sensors", "power")
                }
            }
        case .newObjects(let pace, let isRegular):
            stream(fleet, random, pace, isRegular, from: 0.1, for: Self.length(pace)) { ("imported", "\($0)") }
        case .manyObjects(let pace):
            stream(fleet, random, pace, false, from: 0.1, for: Self.length(pace)) { _ in
                let number = random.next(50)
                return ("sensors-\(number % 10)", "\(number)")
            }
        case .burst(let count, let pace):
            fleet.at(.seconds(1)) { fleet in for _ in 0..<count { Self.put(fleet, "sensors", "power") } }
            if pace > 0 {
                stream(fleet, random, pace, false, from: 1.1, for: Self.length(pace)) { _ in ("sensors", "power") }
            }
        case .clusters(let size, let pace):
            var start = 0.1
            while start < 600 {
                var time = start
                for _ in 0...random.next(2 * size - 1) {
                    fleet.at(.milliseconds(Int(time * 1000))) { Self.put($0, "sensors", "power") }
                    time += random.pause(5)
                }
                start += random.pause(pace / Double(size))
            }
        case .growing(let seconds):
            func next(_ time: Double) {
                guard time < seconds + 120 else { return }
                fleet.at(.milliseconds(Int(time * 1000))) { fleet in
                    Self.put(fleet, "sensors", "power")
                    // The pace doubles 5.3 times.
                    let doublings = 5.3 * min(time / seconds, 1)
                    next(time + random.pause(0.5 * power(2, doublings)))
                }
            }
            next(0.1)
        case .importing:
            stream(fleet, random, 200, true, from: 0.1, for: 25) { ("imported", "\($0)") }
        case .wakeUps(let pace):
            for time in 1...6 {
                let count = random.poisson(pace * 600)
                fleet.at(.seconds(600 * time)) { fleet in
                    for _ in 0..<count { Self.put(fleet, "sensors", "power") }
                }
            }
        }
    }

    /// How long a stream lasts: enough for a verdict and its consequences.
    private static func length(_ pace: Double) -> Double { min(max(120 / pace, 120), 1200) }

    private static func put(_ fleet: SimulatedFleet, _ bucket: String, _ object: String) {
        fleet.cloud.patch(
            KiiObject(bucket: KiiBucket(scope: .app, name: bucket), id: object), [:], by: .thing(id: "th.meter"))
    }

    private func stream(
        _ fleet: SimulatedFleet, _ random: Generator, _ pace: Double, _ isRegular: Bool, from start: Double,
        for seconds: Double, number: Int = 0, _ place: @escaping (Int) -> (String, String)
    ) {
        let end = start + seconds
        func next(_ time: Double, _ number: Int) {
            guard time < end else { return }
            fleet.at(.milliseconds(Int(time * 1000))) { fleet in
                let (bucket, object) = place(number)
                Self.put(fleet, bucket, object)
                next(time + (isRegular ? 1 / pace : random.pause(pace)), number + 1)
            }
        }
        next(start + (isRegular ? random.fraction() / pace : random.pause(pace)), 0)
    }
}

/// A generator that closures share.
final class Generator: Sendable {
    private let state: Mutex<SeededGenerator>

    init(_ seed: UInt64) { state = Mutex(SeededGenerator(seed: seed ^ 0x4071E57)) }

    func fraction() -> Double { state.withLock { $0.fraction() } }
    func next(_ count: Int) -> Int { state.withLock { Int($0.next() % UInt64(count)) } }
    func pause(_ pace: Double) -> Double { -logarithm(1 - fraction()) / pace }

    /// A random number of events with this mean.
    func poisson(_ mean: Double) -> Int {
        var (count, time) = (0, pause(1))
        while time < mean {
            count += 1
            time += pause(1)
        }
        return count
    }
}
