import Synchronization

/// The numbers of messages that a receiver received, by outcome; a snapshot.
///
/// Every message is counted once: the counts of the outcomes, except `paced`, add up to ``received``. A message that
/// has to wait counts as `paced` each time that its transport is asked to deliver it again; in a `PushService`, never.
public struct Metrics: Sendable, Hashable {
    /// The count of one outcome and reason.
    public struct Count: Sendable, Hashable {
        /// The outcome's name, as ``Outcome/name``.
        public let outcome: String
        /// The reason, layer or code; nil if the outcome has none.
        public let reason: String?
        /// The number of messages with this outcome and reason.
        public let messages: Int

        package init(outcome: String, reason: String?, messages: Int) {
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
        /// How often it failed; without those for lack of a resource.
        public let failed: Int
        /// How many of its messages had to wait, for their pace or another middleware; without a service, each is
        /// counted at each delivery.
        public let paced: Int
        /// How often its handler was not called because the message was too old; see ``DeliverySettings/maxAge``.
        public let expired: Int
    }

    /// One count for each possible outcome and reason.
    public let outcomes: [Count]
    /// One count for each route, in order of declaration.
    public let routes: [RouteCount]
    /// How many of the messages that have ended each format had claimed, by its name.
    public package(set) var formats: [String: Int] = [:]

    /// The number of messages that were received and have ended.
    public var received: Int { outcomes.reduce(0) { $1.outcome == "paced" ? $0 : $0 + $1.messages } }

    /// The number of messages with an outcome, and with a reason if one is given.
    public func count(_ outcome: String, _ reason: String? = nil) -> Int {
        outcomes.count(outcome, reason)
    }
}

extension [Metrics.Count] {
    package func count(_ outcome: String, _ reason: String?) -> Int {
        reduce(0) { $1.outcome == outcome && (reason == nil || $1.reason == reason) ? $0 + $1.messages : $0 }
    }
}

extension Metrics: CustomStringConvertible {
    /// The nonzero counts, one per line, those of the routes last; `no messages` if there is none.
    public var description: String {
        let outcomes = outcomes.filter { $0.messages != 0 }.map(\.description)
        let routes = routes.filter { $0.handled != 0 || $0.failed != 0 || $0.paced != 0 || $0.expired != 0 }
            .map(\.description)
        let lines = outcomes + routes
        return lines.isEmpty ? "no messages" : lines.joined(separator: "\n")
    }
}

extension Metrics.Count: CustomStringConvertible {
    /// The outcome, the reason and the number: `duplicate (done): 3`.
    public var description: String { "\(outcome)\(reason.map { " (\($0))" } ?? ""): \(messages)" }
}

extension Metrics.RouteCount: CustomStringConvertible {
    /// The route and its nonzero counts: `route settings: 3 handled, 1 paced`.
    public var description: String {
        let counts = [(handled, "handled"), (failed, "failed"), (paced, "paced"), (expired, "expired")]
            .filter { $0.0 != 0 }
        let words = counts.isEmpty ? "nothing" : counts.map { "\($0.0) \($0.1)" }.joined(separator: ", ")
        return "route \(Suggestion.shown(route)): \(words)"
    }
}

/// The counters of the metrics; custom refusal reasons share one counter, so that their number stays bounded.
package final class OutcomeCounters: Sendable {
    /// The outcomes and reasons, in the order of the counters: the commonest first, since they are looked up in order.
    static let labels: [(outcome: String, reason: String?)] =
        [("handled", nil), ("duplicate", "done"), ("duplicate", "inFlight")]
        + LoopLayer.ofOutcomes.map { ("looped", $0.rawValue) } + [("paced", nil)]
        + [DeadLetter.Reason.killSwitch, .backlogFull, .failed].map { ("deadLettered", $0.rawValue) }
        + [("quarantined", nil), ("superseded", nil), ("expired", nil)]
        + [("refused", "app"), ("refused", "scope"), ("refused", "other")]
        + [("unrouted", "noRoute"), ("unrouted", "ambiguous"), ("failed", "handler"), ("failed", "stage")]
        + DecodeError.Code.allCases.map { ("undecodable", $0.rawValue) }

    /// The names of all outcomes, each once, as ``Outcome/name``.
    package static let outcomes = labels.map(\.outcome).reduce(into: [String]()) { names, name in
        if names.last != name { names.append(name) }
    }

    private let counters = InlineArray<64, Atomic<Int>> { _ in Atomic(0) }

    package func count(_ outcome: Outcome) { counters[Self.number(of: outcome)].add(1, ordering: .relaxed) }

    private static func number(of outcome: Outcome) -> Int {
        func number(_ name: String, _ reason: String?) -> Int? {
            labels.firstIndex { $0.outcome == name && $0.reason == reason }
        }
        let reason: String?
        switch outcome {
        case .handled: return 0
        case .refused(.other): reason = "other"
        case .failed(let failure): reason = failure.isMiddleware ? "stage" : "handler"
        default: reason = outcome.reason
        }
        // Only a middleware of the program's own ends a message in another way, such as looped by the pace.
        return number(outcome.name, reason) ?? number("refused", "other") ?? labels.count
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
                    failed: $0.failed.load(ordering: .relaxed), paced: $0.paced.load(ordering: .relaxed),
                    expired: $0.expired.load(ordering: .relaxed))
            })
    }
}
