public import KiiPush

/// The results of a fleet, from its beginning to the end of the run.
public struct FleetReport: Sendable {
    /// Why a run ended.
    public enum Stop: Sendable, Hashable {
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
    public internal(set) var stop = Stop.quiet
    /// Virtual seconds since the beginning.
    public internal(set) var seconds = 0.0
    /// How many devices there are.
    let devices: Int
    /// How many writes from outside there were; each is a cause of its own.
    public internal(set) var causes = 0
    /// How many events the cloud created, including those of the causes.
    public internal(set) var events = 0
    /// The number of events by generation, that is, by the number of handlers since their cause, from 0.
    package internal(set) var eventsByGeneration: [Int] = []
    /// How many of the devices' writes failed.
    package internal(set) var failedWrites = 0
    /// How many messages arrived, including copies and redeliveries.
    public internal(set) var deliveries = 0
    /// How many messages handlers handled.
    public internal(set) var handled = 0
    /// How many messages a device handled more than once.
    package internal(set) var handledTwice = 0
    /// The most messages of one cause that one device handled; tests check this against a bound.
    public internal(set) var mostHandled = 0
    /// The outcomes of all deliveries, as `Metrics` counts them.
    public internal(set) var outcomes: [Metrics.Count] = []
    /// How many deliveries the network lost.
    public internal(set) var lost = 0
    /// How many copies it made.
    package internal(set) var duplicated = 0
    /// How many deliveries were redelivered.
    package internal(set) var redelivered = 0
    /// How many were finally given up.
    package internal(set) var givenUp = 0
    /// How often a message had to wait for its pace.
    package internal(set) var paced = 0
    /// How many messages that reached a device were dropped, superseded or dead-lettered.
    package internal(set) var stopped = 0
    /// How many messages that reached a device were neither handled nor stopped, including those that wait.
    package internal(set) var unhandled = 0
    /// How often the clock jumped.
    package internal(set) var jumps = 0
    /// The sums over virtual time; when nothing happens any more, 10,000 further ones at most.
    public internal(set) var samples: [Sample] = []

    init(devices: Int) { self.devices = devices }

    static func sum(_ all: [Metrics]) -> [Metrics.Count] {
        guard let first = all.first else { return [] }
        return first.outcomes.indices.map { index in
            let messages = all.reduce(0) { $0 + $1.outcomes[index].messages }
            return Metrics.Count(
                outcome: first.outcomes[index].outcome, reason: first.outcomes[index].reason, messages: messages)
        }
    }

    /// How many deliveries had an outcome, and the reason if one is given.
    public func count(_ outcome: String, _ reason: String? = nil) -> Int {
        outcomes.count(outcome, reason)
    }

    /// The largest ratio of the events of one generation to those of the previous one; nil with one generation.
    ///
    /// More than one means a growing loop; one means a steady loop.
    package var growth: Double? {
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
            line("end", "\(stop) after \(seconds) s, \(devices) devices, \(jumps) clock jumps"),
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
