public import KiiPush

/// The results of a fleet, from its beginning to the end of the run.
public struct FleetReport: Sendable {
    /// Why a run ended.
    public enum Stop: String, Sendable, Hashable {
        /// No message was pending or waited, and nothing was planned.
        case quiet
        /// The virtual time ended while something was pending.
        case timeOver
        /// The limit of deliveries was reached.
        case cap
    }

    /// The sums at one moment.
    public struct Sample: Sendable, Hashable {
        /// Virtual seconds since the beginning.
        public let seconds: Double
        /// How many messages had arrived at devices.
        public let deliveries: Int
        /// How many of them handlers had handled.
        public let handled: Int
        /// How many events the cloud had created.
        public let events: Int
    }

    /// Why the run ended.
    public let stop: Stop
    /// Virtual seconds since the beginning.
    public let seconds: Double
    /// How many devices there are.
    public let devices: Int
    /// How many writes from outside there were; each is a cause of its own.
    public let causes: Int
    /// How many events the cloud created, including those of the causes.
    public let events: Int
    /// The number of events by generation, that is, by the number of handlers since their cause, from 0.
    public let eventsByGeneration: [Int]
    /// How many of the devices' writes failed.
    public let failedWrites: Int
    /// How many messages arrived, including copies and redeliveries.
    public let deliveries: Int
    /// How many messages handlers handled.
    public let handled: Int
    /// How many messages a device handled more than once.
    public let handledTwice: Int
    /// The most messages of one cause that one device handled; tests check this against a bound.
    public let mostHandled: Int
    /// The outcomes of all deliveries, as `Metrics` counts them.
    public let outcomes: [Metrics.Count]
    /// How many deliveries the network lost.
    public let lost: Int
    /// How many copies it made.
    public let duplicated: Int
    /// How many deliveries were redelivered, and how many were finally given up.
    public let redelivered: Int, givenUp: Int
    /// How often a message was told to wait for its pace.
    public let paced: Int
    /// How many messages that reached a device were dropped, superseded or dead-lettered.
    public let stopped: Int
    /// How many messages that reached a device were neither handled nor stopped, including those that wait.
    public let unhandled: Int
    /// How often the clock jumped.
    public let jumps: Int
    /// The sums over virtual time.
    public let samples: [Sample]

    init(
        _ log: FleetLog, _ writes: (writes: Int, failed: Int), _ receivers: [PushReceiver], _ stop: Stop,
        seconds: Double
    ) {
        self.stop = stop
        self.seconds = seconds
        devices = log.devices
        causes = log.eventsByGeneration.first ?? 0
        events = writes.writes
        eventsByGeneration = log.eventsByGeneration
        failedWrites = writes.failed
        deliveries = log.deliveries
        handled = log.handled
        handledTwice = log.handledTwice
        mostHandled = Int(log.handledByCause.max() ?? 0)
        outcomes = Self.sum(receivers.map(\.metrics))
        lost = log.lost
        duplicated = log.duplicated
        redelivered = log.redelivered
        givenUp = log.givenUp
        paced = log.paced
        stopped = log.stopped
        unhandled = log.unhandled
        jumps = log.jumps
        samples = log.samples
    }

    private static func sum(_ all: [Metrics]) -> [Metrics.Count] {
        guard let first = all.first else { return [] }
        return first.outcomes.indices.map { index in
            let messages = all.reduce(0) { $0 + $1.outcomes[index].messages }
            return Metrics.Count(
                outcome: first.outcomes[index].outcome, reason: first.outcomes[index].reason, messages: messages)
        }
    }

    /// How many deliveries had an outcome, and the reason if one is given.
    public func count(_ outcome: String, _ reason: String? = nil) -> Int {
        outcomes.filter { $0.outcome == outcome && (reason == nil || $0.reason == reason) }
            .reduce(0) { $0 + $1.messages }
    }

    /// The largest ratio of the events of one generation to those of the previous one; nil with one generation.
    ///
    /// More than one means a growing loop; one means a steady loop.
    public var growth: Double? {
        zip(eventsByGeneration, eventsByGeneration.dropFirst()).map { Double($1) / Double($0) }.max()
    }
}

extension FleetReport: CustomStringConvertible {
    /// A table of the sums, one a line; omits the samples and the single generations, which may be thousands.
    public var description: String {
        func line(_ name: String, _ value: String) -> String {
            "\(name)\(String(repeating: " ", count: max(1, 14 - name.count)))\(value)"
        }
        let growth = growth.map { "\($0)" } ?? "none"
        var lines = [
            line("end", "\(stop.rawValue) after \(seconds) s, \(devices) devices, \(jumps) clock jumps"),
            line("events", "\(events) from \(causes) causes, \(eventsByGeneration.count) generations"),
            line("growth", "\(growth) between generations at most"),
            line("writes", "\(failedWrites) failed"),
            line("deliveries", "\(deliveries), \(lost) lost, \(duplicated) copied"),
            line("again", "\(redelivered) delivered again, \(givenUp) given up"),
            line("handled", "\(handled), \(handledTwice) twice; one cause \(mostHandled) times by a device at most"),
            line("paced", "\(paced) times"),
            line("not handled", "\(stopped) stopped, \(unhandled) else"),
        ]
        lines += outcomes.filter { $0.messages != 0 }.map { line("outcome", $0.description) }
        return lines.joined(separator: "\n")
    }
}
