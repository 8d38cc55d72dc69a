public import KiiPush

/// Many devices and a cloud, in one process and on one virtual clock: shows whether handlers create a loop before users
/// find out.
///
/// Each device has a real `PushReceiver` with your chain and handlers. Everything that its handlers write to the cloud
/// comes back to every device, including the writer, as in Kii.
///
/// ```swift
/// let fleet = SimulatedFleet(devices: 10) { device in
///     let receiver = PushReceiver(app: SimulatedCloud.app, me: [device.identity], clock: device.clock)
///     receiver.onPushToApp(bucket: "settings", object: "*") { event, context in
///         try await context.writing(event.object) { .done(modifiedAt: try device.put(event.object)) }
///     }
///     return receiver
/// }
/// fleet.cloud.put(KiiObject(bucket: KiiBucket(scope: .app, name: "settings"), id: "o-1"))
/// let report = await fleet.run(for: .seconds(600))
/// ```
///
/// Nothing sleeps, and only the seed is random: ten minutes of ten devices take a moment, and the same seed gives the
/// same report. A device's transport delivers a message at most five times, and one that has to wait as often as it
/// must. Not for use by several tasks at once.
public final class SimulatedFleet {
    /// How long a transport waits before a redelivery.
    private static let redelivery = Duration.seconds(30)
    private static let mostAttempts = 5

    /// The clock of the fleet.
    public let clock: ManualClock
    /// The cloud that the devices write to.
    public let cloud: SimulatedCloud
    /// The devices.
    public let devices: [SimulatedDevice]
    /// The receivers, one per device.
    public let receivers: [PushReceiver]

    private let keys: [PayloadFixture.KeyStyle]
    private let chaos: Chaos
    private var random: SeededGenerator
    private var queue = EventQueue<Step>()
    private var log: FleetLog
    /// Planned actions from outside, by number; a performed one is removed, since it may retain the fleet itself.
    private var actions: [Int32: (SimulatedFleet) async -> Void] = [:]
    private var lastAction: Int32 = 0

    /// One planned event.
    private struct Step {
        enum Kind {
            /// The bytes are shared by all recipients with this key style.
            case deliver(event: Int32, attempt: UInt8, PayloadFixture.KeyStyle, bytes: [UInt8])
            case act(Int32)
        }
        var kind: Kind
        let device: Int32
        /// When the message first arrived.
        var firstArrival: Int64 = .max
        /// Whether it was delivered before, and had to wait for its pace.
        var isPaced = false
    }

    /// A message that a device has handled.
    public struct Handling {
        /// The device's index in the fleet.
        public let device: Int
        /// The write from outside that caused it, from 0.
        let cause: Int
        /// The number of handlers since that write.
        let generation: Int
        /// When it first arrived, from the clock's start.
        let arrivedAt: Duration
        /// How long it then waited for its pace, or for redelivery.
        public let delay: Duration
    }

    /// Called with each message that a device has handled.
    public var onHandled: ((Handling) -> Void)?

    /// Makes a fleet, with a receiver for each device.
    ///
    /// - Parameters:
    ///   - count: the number of devices.
    ///   - keys: the key styles of pushes, assigned to devices in turn from device 0.
    ///   - chaos: the faults of the network and the clock.
    ///   - seed: the seed of the run.
    ///   - sample: the virtual time between two of the report's samples.
    ///   - receiver: makes a device's receiver, with its clock, chain and handlers.
    public init(
        devices count: Int, keys: [PayloadFixture.KeyStyle] = [.long], chaos: Chaos = .none, seed: UInt64 = 1,
        sample: Duration = .seconds(1), receiver: (SimulatedDevice) -> PushReceiver
    ) {
        precondition(count > 0 && !keys.isEmpty, "a fleet has a device, and a device has a key style")
        clock = ManualClock()
        cloud = SimulatedCloud(seed: seed ^ 0x5EED, clock: clock, failing: chaos.failedWrites)
        let (clock, cloud) = (clock, cloud)
        devices = (0..<count).map { SimulatedDevice(number: $0, clock: clock, cloud: cloud) }
        receivers = devices.map(receiver)
        self.keys = keys
        self.chaos = chaos
        random = SeededGenerator(seed: seed)
        log = FleetLog(devices: count, interval: max(1, sample.inMilliseconds))
    }

    // MARK: Running

    /// Performs an action at a virtual time, such as a write from outside or a kill switch.
    ///
    /// The time counts from the clock's start, in whole milliseconds; if it has passed, the action happens at once.
    /// Each of its writes is a cause of its own.
    public func at(_ time: Duration, _ action: @escaping (SimulatedFleet) async -> Void) {
        lastAction += 1
        actions[lastAction] = action
        queue.add(Step(kind: .act(lastAction), device: -1), at: max(time.inMilliseconds, now))
    }

    /// Runs until nothing more happens, or a limit is reached: a virtual time, or the total number of deliveries, which
    /// bounds a growing loop.
    ///
    /// Call it again to continue. The report counts from when the fleet was made.
    public func run(for duration: Duration, deliveries: Int = .max) async -> FleetReport {
        let end = now + duration.inMilliseconds
        send()
        var stop = FleetReport.Stop.quiet
        running: while let time = queue.nextTime {
            guard time <= end else {
                stop = .timeOver
                break
            }
            turnClock(to: time)
            let steps = queue.popList()
            for index in steps.indices {
                if log.report.deliveries >= deliveries {
                    for step in steps[index...] { queue.add(step, at: time) }
                    stop = .cap
                    break running
                }
                await take(steps[index])
            }
        }
        if stop != .cap { turnClock(to: end, isQuiet: stop == .quiet) }
        log.report.seconds = Double(clock.now.nanoseconds) / 1e9
        return log.ended(stop, cloud, receivers)
    }

    /// The current millisecond.
    private var now: Int64 { clock.now.nanoseconds / 1_000_000 }

    /// Advances the clock, unless a jump has already advanced it further.
    private func turnClock(to time: Int64, isQuiet: Bool = false) {
        if time > now { clock.advance(by: .milliseconds(time - now)) }
        log.sample(until: now, isQuiet: isQuiet)
    }

    private func take(_ step: Step) async {
        switch step.kind {
        case .deliver(let event, let attempt, let style, let bytes):
            await deliver(step, Int(event), attempt, RawPayload(bytes, transport: style.transport))
        case .act(let number):
            await actions.removeValue(forKey: number)?(self)
            send()
        }
    }

    // MARK: From the cloud to the devices

    /// Sends new events to every device.
    private func send() {
        for (fixture, cause) in cloud.takeEvents() {
            let event = Int32(log.add(cause))
            var encoded: [PayloadFixture.KeyStyle: [UInt8]] = [:]
            func put(on device: Int, _ style: PayloadFixture.KeyStyle) {
                guard !random.happens(chaos.loss) else { return log.report.lost += 1 }
                let bytes = encoded[style] ?? fixture.payload(style).bytes
                encoded[style] = bytes
                let step = Step(kind: .deliver(event: event, attempt: 1, style, bytes: bytes), device: Int32(device))
                queue.add(step, at: now + random.milliseconds(in: chaos.delay))
            }
            for device in devices.indices {
                let style = keys[device % keys.count]
                put(on: device, style)
                if random.happens(chaos.duplication) {
                    log.report.duplicated += 1
                    let isOther = random.next() & 1 == 0
                    put(on: device, isOther ? (style == .short ? .long : .short) : style)
                }
            }
        }
    }

    // MARK: At a device

    private func deliver(_ step: Step, _ event: Int, _ attempt: UInt8, _ payload: RawPayload) async {
        let device = Int(step.device)
        var (step, payload) = (step, payload)
        step.firstArrival = min(step.firstArrival, now)
        payload.isRedelivered = attempt > 1 || step.isPaced
        payload.arrivedAt = MonotonicInstant(nanoseconds: step.firstArrival * 1_000_000)
        log.reach(event, device, isAgain: step.isPaced)
        var cause = log.cause(of: event)
        cause.generation += 1
        cloud.setCause(cause)
        let outcome = await receivers[device].receive(payload)
        cloud.setCause(nil)
        if case .paced(let until) = outcome {
            log.report.paced += 1
            step.isPaced = true
            // Rounded up to the millisecond at which it is certainly due.
            queue.add(step, at: max(now, until.nanoseconds / 1_000_000 + 1))
        } else {
            note(outcome, step, event)
        }
        send()
        if random.happens(chaos.jumps) {
            log.report.jumps += 1
            clock.advance(by: .milliseconds(random.milliseconds(in: chaos.jump)))
        }
    }

    /// Counts the result of a delivery, and plans its redelivery if needed.
    private func note(_ outcome: Outcome, _ step: Step, _ event: Int) {
        switch outcome {
        case .handled:
            log.handle(event, Int(step.device))
            report(step, event)
        case .looped, .deadLettered, .superseded: log.stop(event, Int(step.device))
        default: break
        }
        guard outcome.disposition == .retryLater,
            case .deliver(let number, let attempt, let style, let bytes) = step.kind
        else { return }
        guard attempt < Self.mostAttempts else { return log.report.givenUp += 1 }
        log.report.redelivered += 1
        var again = step
        again.kind = .deliver(event: number, attempt: attempt + 1, style, bytes: bytes)
        queue.add(again, at: now + Self.redelivery.inMilliseconds)
    }

    private func report(_ step: Step, _ event: Int) {
        guard let onHandled else { return }
        let cause = log.cause(of: event)
        onHandled(
            Handling(
                device: Int(step.device), cause: cause.number, generation: cause.generation,
                arrivedAt: .milliseconds(step.firstArrival), delay: .milliseconds(now - step.firstArrival)))
    }
}
