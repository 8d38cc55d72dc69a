import KiiPush

/// The records of a running fleet.
struct FleetLog {
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
    /// The cause of each event.
    private var causes: [SimulatedCloud.Cause] = []
    private var fates: [Fate] = []
    /// How often each device handled messages of each cause; one row per cause.
    private var handledByCause: [Int32] = []

    private var devices: Int { report.devices }

    init(devices: Int, interval: Int64) {
        report = FleetReport(devices: devices)
        self.interval = interval
    }

    /// Adds an event and returns its number.
    mutating func add(_ cause: SimulatedCloud.Cause) -> Int {
        causes.append(cause)
        fates.append(contentsOf: repeatElement(.unknown, count: devices))
        while report.eventsByGeneration.count <= cause.generation { report.eventsByGeneration.append(0) }
        report.eventsByGeneration[cause.generation] += 1
        let missing = max(0, (cause.number + 1) * devices - handledByCause.count)
        handledByCause.append(contentsOf: repeatElement(0, count: missing))
        return causes.count - 1
    }

    func cause(of event: Int) -> SimulatedCloud.Cause { causes[event] }

    // MARK: Deliveries

    mutating func reach(_ event: Int, _ device: Int, isAgain: Bool) {
        if !isAgain { report.deliveries += 1 }
        let index = event * devices + device
        if fates[index] == .unknown { fates[index] = .reached }
    }

    mutating func handle(_ event: Int, _ device: Int) {
        report.handled += 1
        handledByCause[causes[event].number * devices + device] += 1
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
                    handled: report.handled, events: causes.count))
        }
    }
}
