public import KiiPush

/// Many devices and a cloud, in one process and on one virtual clock: shows whether handlers feed a loop before users
/// do.
///
/// Each device has a real `PushReceiver` with whatever chain and handlers you give it. What its handlers
/// write to the cloud comes back to every device, as Kii does it: to the one that wrote, too.
///
/// ```swift
/// let fleet = SimulatedFleet(devices: 10) { device in
///     let receiver = PushReceiver(app: SimulatedCloud.app, me: [device.identity], clock: device.clock)
///     receiver.onPushToApp(bucket: "settings", object: "*") { event, context in
///         let write = try context.willWrite(event.object)
///         write.done(modifiedAt: try device.put(event.object))
///     }
///     return receiver
/// }
/// fleet.cloud.put(KiiObject(bucket: KiiBucket(scope: .app, name: "settings"), id: "o-1"))
/// let report = await fleet.run(for: .seconds(3600))
/// ```
///
/// Nothing sleeps and nothing is random but by the seed: an hour of ten devices takes a moment, and the same seed gives
/// the same report. A device's transport waits for the end of a message that is held, and delivers again, up
/// to five times or as often as you say, what it is told to. Not for use by several tasks at once.
public final class SimulatedFleet {
    /// How long a transport waits before it delivers again what it was told to.
    package static let redelivery = Duration.seconds(30)

    /// The clock of the fleet.
    public let clock: ManualClock
    /// The cloud that the devices write to.
    public let cloud: SimulatedCloud
    /// The devices.
    public let devices: [SimulatedDevice]
    /// The receivers, one a device.
    public let receivers: [PushReceiver]

    let keys: [PayloadFixture.KeyStyle]
    let chaos: Chaos
    let mostAttempts: Int
    var random: SeededGenerator
    var queue = EventQueue<Step>()
    var log: FleetLog
    /// What is to be done from outside, by number; what was done is forgotten, since it may hold the fleet itself.
    private var actions: [Int32: (SimulatedFleet) async -> Void] = [:]
    private var lastAction: Int32 = 0
    /// What handlers have put off, by number.
    var plans: [Int32: SimulatedCloud.Planned] = [:]
    var lastPlan: Int32 = 0
    /// When each device is to look at what it holds, so that it need not look each millisecond.
    var nextLook: [Int64]
    /// What each held message was delivered as, by device and the held message's number.
    var heldSteps: [HeldKey: Step] = [:]

    struct HeldKey: Hashable {
        let device: Int32
        let id: UInt64
    }

    /// One thing that happens.
    struct Step {
        enum Kind {
            case deliver(event: Int32, attempt: UInt8, style: PayloadFixture.KeyStyle)
            case look
            case act(Int32)
            case write(Int32)
        }
        var kind: Kind
        let device: Int32
        /// When the message arrived for the first time.
        var firstArrival: Int64 = .max
    }

    /// A message that a device has handled.
    public struct Handling {
        /// The device's place in the fleet.
        public let device: Int
        /// Which write from outside was its cause, from 0.
        public let cause: Int
        /// How many handlers lie between the two.
        public let generation: Int
        /// When it arrived for the first time, from the clock's beginning.
        public let arrivedAt: Duration
        /// How long it was held, or waited to be delivered again, since then.
        public let delay: Duration
    }

    /// Called with each message that a device has handled.
    public var onHandled: ((Handling) -> Void)?

    /// Makes a fleet.
    ///
    /// - Parameters:
    ///   - count: how many there are.
    ///   - keys: the key styles in which pushes come; device 0 has the first one, and so on, again from the front.
    ///   - chaos: what the network and the clock do.
    ///   - seed: which of all possible runs it is.
    ///   - attempts: how often a transport tries to deliver a message at most, 1…100.
    ///   - sample: how much virtual time there is between two of the report's samples.
    ///   - receiver: makes a device's receiver, with its clock, its chain and its handlers.
    public init(
        devices count: Int, keys: [PayloadFixture.KeyStyle] = [.long], chaos: Chaos = .none, seed: UInt64 = 1,
        attempts: Int = 5, sample: Duration = .seconds(1), receiver: (SimulatedDevice) -> PushReceiver
    ) {
        precondition(count > 0 && !keys.isEmpty, "a fleet has a device, and a device has a key style")
        clock = ManualClock()
        cloud = SimulatedCloud(seed: seed ^ 0x5EED, clock: clock, failing: chaos.failedWrites)
        let (clock, cloud) = (clock, cloud)
        devices = (0..<count).map { SimulatedDevice(number: $0, clock: clock, cloud: cloud) }
        receivers = devices.map(receiver)
        self.keys = keys
        self.chaos = chaos
        mostAttempts = min(max(attempts, 1), 100)
        random = SeededGenerator(seed: seed)
        log = FleetLog(devices: count, interval: max(1, sample.inMilliseconds))
        nextLook = Array(repeating: .max, count: count)
    }

    // MARK: Running

    /// Does something at a time of the virtual clock, such as a write from outside or the turn of a kill switch.
    ///
    /// - Parameters:
    ///   - time: when, from the clock's beginning, in whole milliseconds; at once if it is over.
    ///   - action: what; everything that it writes is a cause of its own.
    public func at(_ time: Duration, _ action: @escaping (SimulatedFleet) async -> Void) {
        lastAction += 1
        actions[lastAction] = action
        queue.add(Step(kind: .act(lastAction), device: -1), at: max(time.inMilliseconds, now))
    }

    /// Runs until nothing happens any more, but not longer than it is told.
    ///
    /// Call it again to go on.
    ///
    /// - Parameters:
    ///   - duration: the virtual time from now on after which it stops.
    ///   - deliveries: the number of deliveries, in all, after which it stops: the bound of a loop that grows.
    /// - Returns: what happened since the fleet was made.
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
                if log.deliveries >= deliveries {
                    for step in steps[index...] { queue.add(step, at: time) }
                    stop = .cap
                    break running
                }
                await take(steps[index])
            }
        }
        if stop != .cap { turnClock(to: end) }
        return FleetReport(log, cloud.counts, receivers, stop, seconds: Double(clock.now.nanoseconds) / 1e9)
    }

    /// The present millisecond.
    var now: Int64 { clock.now.nanoseconds / 1_000_000 }

    /// Turns the clock on, unless a jump has brought it further already.
    private func turnClock(to time: Int64) {
        if time > now { clock.advance(by: .milliseconds(time - now)) }
        log.sample(until: now)
    }

    private func take(_ step: Step) async {
        switch step.kind {
        case .deliver(let event, let attempt, let style): await deliver(step, Int(event), attempt, style)
        case .look: await look(Int(step.device))
        case .write(let number):
            guard let planned = plans.removeValue(forKey: number) else { return }
            cloud.setCause(planned.cause)
            try? planned.action()
            cloud.setCause(nil)
            send()
        case .act(let number):
            await actions.removeValue(forKey: number)?(self)
            send()
            for device in devices.indices { planLook(device) }
        }
    }
}
