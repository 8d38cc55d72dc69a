import KiiPush
import KiiPushDelivery
import KiiPushTesting
import Synchronization

/// One adversary on a fleet, for an hour; with honest messages, until these are handled, too.
struct AdversaryRun {
    let name: String
    let adversary: Adversary

    struct Result {
        /// The most messages of the loop that one device handled in the hour.
        var handled = 0
        /// How many honest messages arrived, how many of them were not handled in the end, and the longest delay in
        /// seconds.
        var honest = 0, honestLost = 0
        var latest = 0.0
        var deliveries = 0
        /// How long it ran: an hour, or until it reached five times its bound.
        var seconds = 0.0
        /// How many messages were handled in each minute.
        var timeline: [Int] = []
        var stop = FleetReport.Stop.quiet
    }

    /// The number of deliveries at which a run is cut off.
    var cap = 3_000_000
    /// Whether it runs for the hour, even if it has reached five times its bound.
    var isWhole = false

    private var most: Int { isWhole ? .max : 5 * adversary.bound }

    /// How long only honest messages come before the loop begins.
    private var head: Duration { .milliseconds(adversary.head) }

    func run(_ seed: UInt64) async -> Result {
        let places = Places(adversary, seed)
        let chaos = Chaos(
            delay: .milliseconds(Int(Double(adversary.roundTrip) * (1 - adversary.jitter)))
                ... .milliseconds(Int(Double(adversary.roundTrip) * (1 + adversary.jitter))), loss: adversary.loss)
        let fleet = SimulatedFleet(
            devices: adversary.devices, chaos: chaos, seed: seed, attempts: 2, sample: .seconds(3600)
        ) { places.receiver($0) }
        var tokens: [Int] = Array(repeating: 0, count: adversary.devices)
        var timeline = Array(repeating: tokens, count: 6 * 60)
        var honestHandled = 0, latest = Duration.zero
        fleet.onHandled = { handling in
            if handling.generation == 0, !places.isOfLoop(cause: handling.cause) {
                honestHandled += 1
                latest = max(latest, handling.delay)
            } else {
                tokens[handling.device] += 1
                let minute = (handling.arrivedAt + handling.delay - head) / .seconds(60)
                timeline[Int(minute)][handling.device] += 1
            }
        }
        begin(fleet, places)
        if adversary.honestPace > 0 {
            sendHonest(fleet, places, at: adversary.head > 0 ? 0 : Double(adversary.spread) / 1000 + 0.1)
        }
        var report = await fleet.run(for: head + .seconds(10), deliveries: cap)
        var handled: Int { max(tokens.max() ?? 0, places.mostFailures) }
        for _ in 1..<360 where report.stop == .timeOver && handled <= most {
            report = await fleet.run(for: .seconds(10), deliveries: cap)
        }
        var result = Result(handled: handled, stop: report.stop)
        result.seconds = report.seconds
        result.timeline = timeline.map { $0.max() ?? 0 }
        if adversary.honestPace > 0, report.stop != .cap, result.handled <= most {
            // The handlers are repaired: all waiting messages must follow.
            places.isMended.store(true, ordering: .relaxed)
            report = await fleet.run(for: .seconds(4 * 3600), deliveries: 2 * cap)
            result.honest = (report.causes - adversary.tokens) * adversary.devices
            result.honestLost = max(0, result.honest - honestHandled - Int(report.lost))
            result.latest = latest / .seconds(1)
        }
        result.deliveries = report.deliveries
        return result
    }

    private func begin(_ fleet: SimulatedFleet, _ places: Places) {
        for token in 0..<adversary.tokens {
            let time = adversary.head + adversary.spread * token / adversary.tokens
            fleet.at(.milliseconds(time)) { places.write(to: $0.cloud, isHonest: false) }
        }
    }

    /// Sends one honest message, and schedules the next at a random time.
    private func sendHonest(_ fleet: SimulatedFleet, _ places: Places, at time: Double) {
        guard time < 3600 + head / .seconds(1) else { return }
        fleet.at(.milliseconds(Int(time * 1000))) { fleet in
            places.write(to: fleet.cloud, isHonest: true)
            sendHonest(fleet, places, at: time + places.pause(adversary.honestPace))
        }
    }
}

/// The targets of an adversary's writes, and the handlers that write.
final class Places: Sendable {
    let isMended = Atomic<Bool>(false)
    /// How many times the handlers of each device wrote and failed.
    private let failures = Mutex<[Int: Int]>([:])
    private let adversary: Adversary
    private let state: Mutex<(last: Int, random: SeededGenerator)>
    /// How many messages came from outside, and which of them began a loop.
    private let outside = Mutex<(count: Int, loop: Set<Int>)>((0, []))
    private static let bucket = KiiBucket(scope: .app, name: "settings")
    private static let honest = "U-honest"

    init(_ adversary: Adversary, _ seed: UInt64) {
        self.adversary = adversary
        state = Mutex((0, SeededGenerator(seed: seed ^ 0xADE)))
    }

    struct Failure: Error {}

    var mostFailures: Int { failures.withLock { $0.values.max() ?? 0 } }

    enum Place {
        case object(KiiObject)
        case topic(KiiTopic, sender: Sender)
    }

    /// The random time until the next message at a pace, in seconds.
    func pause(_ pace: Double) -> Double {
        -logarithm(1 - state.withLock { $0.random.fraction() }) / pace
    }

    // MARK: Where the next message is about

    private func next(isHonest: Bool) -> Place {
        let (number, kind): (Int, LoopChange) = state.withLock { state in
            state.last += 1
            guard adversary.change == .mixed else { return (state.last, adversary.change) }
            return (state.last, LoopChange.allCases[Int(state.random.next() % UInt64(LoopChange.allCases.count - 1))])
        }
        let own = Self.bucket
        switch kind {
        case .nothing: return .object(KiiObject(bucket: own, id: "o"))
        case .twoBuckets:
            let other = number & 1 == 0 ? own : KiiBucket(scope: .app, name: "answers")
            return .object(KiiObject(bucket: other, id: "o"))
        case .object: return .object(KiiObject(bucket: own, id: "o-\(number)"))
        case .sender:
            let sender = Sender.user(id: isHonest ? Self.honest : "U-\(number)")
            return .topic(KiiTopic(scope: .app, name: "news"), sender: sender)
        case .topic:
            let sender = Sender.user(id: isHonest ? Self.honest : "U-loop")
            return .topic(KiiTopic(scope: .app, name: "news-\(number)"), sender: sender)
        case .bucket: return .object(KiiObject(bucket: KiiBucket(scope: .app, name: "settings-\(number)"), id: "o"))
        case .scope, .mixed:
            return .object(KiiObject(bucket: KiiBucket(scope: .user(KiiUser(id: "U-\(number)")), name: "own"), id: "o"))
        case .route:
            let scope = KiiScope.user(KiiUser(id: "U-\(number)"))
            return .object(KiiObject(bucket: KiiBucket(scope: scope, name: "routed-\(number % 8)"), id: "o"))
        }
    }

    // MARK: Writing

    /// Whether the message from outside with this number began a loop.
    func isOfLoop(cause: Int) -> Bool { outside.withLock { $0.loop.contains(cause) } }

    /// Writes from outside the fleet.
    func write(to cloud: SimulatedCloud, isHonest: Bool) {
        outside.withLock { outside in
            if !isHonest { outside.loop.insert(outside.count) }
            outside.count += 1
        }
        switch next(isHonest: isHonest) {
        case .object(let object): cloud.patch(object, [:], by: .user(id: isHonest ? Self.honest : "U-person"))
        case .topic(let topic, let sender): cloud.send([:], to: topic, by: sender)
        }
    }

    private func answer(_ message: PushMessage, _ context: HandlerContext, _ device: SimulatedDevice) throws {
        guard !isMended.load(ordering: .relaxed) else { return }
        if !adversary.answersHonest, message.sender == .user(id: Self.honest) { return }
        for _ in 0..<adversary.fanOut {
            let place = next(isHonest: false)
            let announced: OwnWrite? =
                if adversary.care == .announces, case .object(let object) = place {
                    try context.willWrite(object)
                } else {
                    nil
                }
            let stamp = adversary.care == .patches ? context.stamp : nil
            guard let delay else {
                try write(place, announced, stamp, device)
                continue
            }
            device.later(delay(device)) { [self] in try write(place, announced, stamp, device) }
        }
        // Not for an honest message, which its handler would lose, not the guard.
        if adversary.care == .fails, message.sender != .user(id: Self.honest) {
            failures.withLock { $0[device.number, default: 0] += 1 }
            throw Failure()
        }
    }

    /// How long a write waits.
    private var delay: ((SimulatedDevice) -> Duration)? {
        guard adversary.wait > 0 else { return nil }
        let wait = Int64(adversary.wait)
        guard adversary.isBursty else { return { _ in .milliseconds(wait) } }
        return { .milliseconds(wait - $0.clock.now.nanoseconds / 1_000_000 % wait) }
    }

    private func write(_ place: Place, _ announced: OwnWrite?, _ stamp: String?, _ device: SimulatedDevice) throws {
        switch place {
        case .object(let object):
            var fields: [String: DataValue] = ["target": .string("\(device.number)")]
            if let stamp { fields[Lineage.key] = .string(stamp) }
            let time = stamp == nil ? try device.put(object, fields) : try device.patch(object, fields)
            announced?.done(modifiedAt: time)
        case .topic(let topic, let sender): try device.send([:], to: topic, by: sender)
        }
    }

    // MARK: Receivers

    func receiver(_ device: SimulatedDevice) -> PushReceiver {
        let layers = adversary.hasAllLayers ? Set(LoopLayer.allCases) : [.rate]
        let receiver = PushReceiver(app: SimulatedCloud.app, clock: device.clock) {
            Deduplicator(clock: device.clock)
            LoopGuard(settings: LoopSettings(layers: layers), clock: device.clock)
            ScopeFilter()
        }
        for number in 0..<8 {
            receiver.onPushToApp("route-\(number)", bucket: .exactly("routed-\(number)")) { [self] event, context in
                try answer(event.message, context, device)
            }
        }
        receiver.onAny("loop") { [self] message, context in try answer(message, context, device) }
        return receiver
    }
}
