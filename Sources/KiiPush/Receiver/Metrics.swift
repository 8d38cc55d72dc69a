import Synchronization

/// How many messages a receiver took in, and how they ended; a snapshot.
///
/// Every message is counted once: the counts of the outcomes add up to ``received``. A message that is held counts as
/// `held` for as long as it is, and then as what it ended as.
public struct Metrics: Sendable, Hashable {
    /// The count of one outcome and reason.
    public struct Count: Sendable, Hashable {
        /// The outcome's name, as ``Outcome/name``.
        public let outcome: String
        /// The reason, layer or code; nil where the outcome has none.
        public let reason: String?
        /// How many messages ended so.
        public let messages: Int

        /// Names a count.
        public init(outcome: String, reason: String?, messages: Int) {
            self.outcome = outcome
            self.reason = reason
            self.messages = messages
        }
    }

    /// The counts of one route's handler.
    public struct RouteCount: Sendable, Hashable {
        /// The route's id.
        public let route: String
        /// How often its handler succeeded.
        public let handled: Int
        /// How often it failed.
        public let failed: Int
        /// How often the loop guard held a message for it.
        public let held: Int
    }

    /// One count for each outcome and reason that there can be.
    public let outcomes: [Count]

    /// One count for each route, in order of declaration.
    public let routes: [RouteCount]

    /// How many messages were taken in and have ended.
    public var received: Int { outcomes.reduce(0) { $0 + $1.messages } }

    /// How many messages ended with an outcome, and with a reason if one is given.
    public func count(_ outcome: String, _ reason: String? = nil) -> Int {
        outcomes.filter { $0.outcome == outcome && (reason == nil || $0.reason == reason) }
            .reduce(0) { $0 + $1.messages }
    }
}

extension Metrics: CustomStringConvertible {
    /// The counts that are not zero, one a line, those of the routes last; `no messages` where there is none.
    public var description: String {
        let outcomes = outcomes.filter { $0.messages != 0 }.map(\.description)
        let routes = routes.filter { $0.handled != 0 || $0.failed != 0 || $0.held != 0 }.map(\.description)
        let lines = outcomes + routes
        return lines.isEmpty ? "no messages" : lines.joined(separator: "\n")
    }
}

extension Metrics.Count: CustomStringConvertible {
    /// The outcome, the reason and the number: `duplicate (done): 3`.
    public var description: String { "\(outcome)\(reason.map { " (\($0))" } ?? ""): \(messages)" }
}

extension Metrics.RouteCount: CustomStringConvertible {
    /// The route and its counts that are not zero: `route settings: 3 handled, 1 held`.
    public var description: String {
        let counts = [(handled, "handled"), (failed, "failed"), (held, "held")].filter { $0.0 != 0 }
        let words = counts.isEmpty ? "nothing" : counts.map { "\($0.0) \($0.1)" }.joined(separator: ", ")
        return "route \(NearestName.shown(route)): \(words)"
    }
}

/// The counters behind the metrics; reasons of a user's own share one, so that their number stays bounded.
final class OutcomeCounters: Sendable {
    /// What is counted, in the order of the counters.
    private static let labels: [(outcome: String, reason: String?)] =
        [("handled", nil), ("duplicate", "done"), ("duplicate", "inFlight")]
        + LoopLayer.allCases.map { ("looped", $0.rawValue) }
        + [("held", "rate")] + DeadLetter.Reason.allCases.map { ("deadLettered", $0.rawValue) }
        + [("refused", "app"), ("refused", "scope"), ("refused", "other")]
        + [("unrouted", "noRoute"), ("unrouted", "ambiguous"), ("failed", "handler"), ("failed", "stage")]
        + DecodeError.Code.allCases.map { ("undecodable", $0.rawValue) }

    private let counters = InlineArray<64, Atomic<Int>> { _ in Atomic(0) }

    func count(_ outcome: Outcome) {
        let number: Int
        switch outcome {
        case .handled: number = 0
        default: number = Self.number(of: outcome)
        }
        counters[number].add(1, ordering: .relaxed)
    }

    /// Takes back the count of a message that was held and has ended now.
    func uncountHeld() { counters[Self.heldNumber].subtract(1, ordering: .relaxed) }

    private static let heldNumber = labels.firstIndex { $0.outcome == "held" } ?? 0

    private static func number(of outcome: Outcome) -> Int {
        let reason: String? =
            switch outcome {
            case .refused(.other): "other"
            case .failed(let failure): failure.isStage ? "stage" : "handler"
            default: outcome.reason
            }
        return labels.firstIndex { $0.outcome == outcome.name && $0.reason == reason } ?? 0
    }

    func snapshot(_ routes: [Route]) -> Metrics {
        Metrics(
            outcomes: Self.labels.enumerated().map { number, label in
                Metrics.Count(
                    outcome: label.outcome, reason: label.reason, messages: counters[number].load(ordering: .relaxed))
            },
            routes: routes.map {
                Metrics.RouteCount(
                    route: $0.id, handled: $0.handled.load(ordering: .relaxed),
                    failed: $0.failed.load(ordering: .relaxed), held: $0.held.load(ordering: .relaxed))
            })
    }
}
