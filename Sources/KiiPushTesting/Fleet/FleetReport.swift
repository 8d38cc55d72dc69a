public import KiiPush

/// What happened in a fleet, from its beginning to the end of the run.
public struct FleetReport: Sendable {
    /// Why a run ended.
    public enum Stop: String, Sendable, Hashable {
        /// Nothing was on its way, held or planned any more.
        case quiet
        /// The virtual time was over, with something left to happen.
        case timeOver
        /// The number of deliveries was reached.
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
        /// How many events the cloud had made.
        public let events: Int
    }

    /// Why the run ended.
    public let stop: Stop
    /// Virtual seconds since the beginning.
    public let seconds: Double
    /// How many devices there are.
    public let devices: Int
    /// How many writes from outside there were, each a cause of its own.
    public let causes: Int
    /// How many events the cloud made, those of the causes too.
    public let events: Int
    /// How many events there were so many handlers after their cause; the causes' own come first.
    public let eventsByGeneration: [Int]
    /// How many of the devices' writes failed.
    public let failedWrites: Int
    /// How many messages arrived, copies and redeliveries too.
    public let deliveries: Int
    /// How many messages handlers handled.
    public let handled: Int
    /// How many messages a device handled more than once.
    public let handledTwice: Int
    /// The most messages of one cause that one device handled: what a bound is asserted on.
    public let mostHandled: Int
    /// The outcomes of all deliveries, as `Metrics` counts them; of held ones their end.
    public let outcomes: [Metrics.Count]
    /// How many deliveries the network lost.
    public let lost: Int
    /// How many copies it made.
    public let duplicated: Int
    /// How many deliveries were delivered again, and how many given up in the end.
    public let redelivered: Int, givenUp: Int
    /// How often a message was held, and how many of them were handled later.
    public let held: Int, released: Int
    /// The longest that a message was held before it was handled.
    public let longestHold: Duration
    /// How many messages that reached a device were ended or put aside by its loop guard; of honest traffic, the
    /// false positives.
    public let stopped: Int
    /// How many messages that reached a device were neither handled nor stopped; those that are held count.
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
        held = log.held
        released = log.released
        longestHold = log.longestHold
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

    /// How many deliveries ended with an outcome, and with a reason if one is given.
    public func count(_ outcome: String, _ reason: String? = nil) -> Int {
        outcomes.filter { $0.outcome == outcome && (reason == nil || $0.reason == reason) }
            .reduce(0) { $0 + $1.messages }
    }

    /// By how much the events of one generation outnumber those of the one before, at most; nil with one generation.
    ///
    /// More than one is a loop that grows, one is a loop that goes on.
    public var growth: Double? {
        zip(eventsByGeneration, eventsByGeneration.dropFirst()).map { Double($1) / Double($0) }.max()
    }
}

extension FleetReport: CustomStringConvertible {
    /// A table of the sums, one a line; neither the samples nor the generations one by one, which may be thousands.
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
            line("held", "\(held), \(released) handled later, \(longestHold) at most"),
            line("not handled", "\(stopped) stopped by a loop guard, \(unhandled) else"),
        ]
        lines += outcomes.filter { $0.messages != 0 }.map { line("outcome", $0.description) }
        return lines.joined(separator: "\n")
    }
}
