import KiiPush

/// The records of a running fleet.
struct FleetLog {
    /// One event, and how many of its deliveries are pending.
    private struct Entry {
        let cause: SimulatedCloud.Cause
        var fixture: PayloadFixture?
        var short: RawPayload?
        var long: RawPayload?
        var pending = 0
    }

    /// The result of an event on a device; of copies, the higher value counts.
    private enum Fate: UInt8 {
        case unknown
        /// It arrived, and was not handled.
        case reached
        /// The loop guard dropped or dead-lettered it.
        case stopped
        case handled
    }

    /// What has been counted so far.
    var report: FleetReport
    private let interval: Int64
    private var entries: [Entry] = []
    private var fates: [Fate] = []
    /// How often each device handled messages of each cause; one row per cause.
    private var handledByCause: [Int32] = []

    private var devices: Int { report.devices }

    init(devices: Int, interval: Int64) {
        report = FleetReport(devices: devices)
        self.interval = interval
    }

    // MARK: Events

    /// Adds an event and returns its number.
    mutating func add(_ event: SimulatedCloud.Event) -> Int {
        entries.append(Entry(cause: event.cause, fixture: event.fixture))
        fates.append(contentsOf: repeatElement(.unknown, count: devices))
        while report.eventsByGeneration.count <= event.cause.generation { report.eventsByGeneration.append(0) }
        report.eventsByGeneration[event.cause.generation] += 1
        let needed = (event.cause.number + 1) * devices
        if handledByCause.count < needed {
            handledByCause.append(contentsOf: repeatElement(0, count: needed - handledByCause.count))
        }
        return entries.count - 1
    }

    func cause(of event: Int) -> SimulatedCloud.Cause { entries[event].cause }

    /// The cause of the writes of this event's handlers.
    func next(after event: Int) -> SimulatedCloud.Cause {
        let cause = entries[event].cause
        return SimulatedCloud.Cause(number: cause.number, generation: cause.generation + 1)
    }

    mutating func expect(_ event: Int32) { entries[Int(event)].pending += 1 }

    /// The payload, encoded once and shared by all recipients.
    mutating func payload(of event: Int, _ style: PayloadFixture.KeyStyle) -> RawPayload {
        if let made = style == .short ? entries[event].short : entries[event].long { return made }
        let payload = entries[event].fixture?.payload(style) ?? RawPayload("")
        if style == .short { entries[event].short = payload } else { entries[event].long = payload }
        return payload
    }

    /// Releases the bytes when no delivery is pending.
    mutating func leave(_ event: Int) {
        entries[event].pending -= 1
        guard entries[event].pending == 0 else { return }
        entries[event].short = nil
        entries[event].long = nil
    }

    // MARK: Deliveries

    mutating func reach(_ event: Int, _ device: Int, isAgain: Bool) {
        if !isAgain { report.deliveries += 1 }
        let index = event * devices + device
        if fates[index] == .unknown { fates[index] = .reached }
    }

    mutating func handle(_ event: Int, _ device: Int) {
        report.handled += 1
        handledByCause[entries[event].cause.number * devices + device] += 1
        let index = event * devices + device
        if fates[index] == .handled { report.handledTwice += 1 }
        fates[index] = .handled
    }

    mutating func stop(_ event: Int, _ device: Int) {
        let index = event * devices + device
        if fates[index] != .handled { fates[index] = .stopped }
    }

    // MARK: Results

    /// The report of a run that has ended.
    func ended(_ stop: FleetReport.Stop, _ cloud: SimulatedCloud, _ receivers: [PushReceiver]) -> FleetReport {
        var report = report
        report.stop = stop
        report.causes = report.eventsByGeneration.first ?? 0
        (report.events, report.failedWrites) = cloud.counts
        report.mostHandled = Int(handledByCause.max() ?? 0)
        report.outcomes = FleetReport.sum(receivers.map(\.metrics))
        report.stopped = fates.count { $0 == .stopped }
        report.unhandled = fates.count { $0 == .reached }
        return report
    }

    /// Records the sums for every completed interval; if nothing happens any more, for the next 10,000 at most.
    mutating func sample(until time: Int64, isQuiet: Bool) {
        let most = isQuiet ? report.samples.count + 10_000 : .max
        while report.samples.count < most, Int64(report.samples.count) * interval < time {
            report.samples.append(
                FleetReport.Sample(
                    seconds: Double(Int64(report.samples.count) * interval) / 1000, deliveries: report.deliveries,
                    handled: report.handled, events: entries.count))
        }
    }
}
