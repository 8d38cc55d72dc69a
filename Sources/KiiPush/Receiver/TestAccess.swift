import Synchronization

// Ways in that the test kit needs and no user does.

extension PushReceiver {
    /// Takes one payload in, and tells the message's number before any stage or handler sees it.
    ///
    /// An undecodable payload has a number too, but nobody is called for it.
    package func receive(_ payload: RawPayload, willRun: (UInt64) -> Void) async -> Outcome {
        do {
            var message = try prepare(payload)
            willRun(message.id)
            return await run(&message)
        } catch {
            return .undecodable(error)
        }
    }

    /// Takes over the routes of another receiver as they are, compiled: a thousand receivers of one file then cost one
    /// compilation.
    ///
    /// Both count what their handlers did in the same counters.
    package func takeRoutes(of other: PushReceiver) {
        let table = other.currentSetup().table
        setup.withLock { setup in
            setup.rules.generation = table.generation
            setup.replaceRoutes(table.routes, table)
        }
    }
}

extension RoutedMessage {
    /// A message that routes with these ids take, without a receiver.
    package init(_ message: PushMessage, id: UInt64, arrivedAt: MonotonicInstant, app: String?, routeIDs: [String]) {
        var match = RouteMatch()
        match.routes = MatchedRoutes(
            routeIDs.map { id in
                Route(id: id, criteria: RouteCriteria(), flow: .continue, handler: .any { _, _ in })
            })
        self.init(message, id: id, arrivedAt: arrivedAt, app: app, match: match)
    }
}

extension Outcome {
    /// The outcome of a message whose one handler threw.
    package static func failure(of route: String, _ error: any Error) -> Outcome {
        .failed(Failure(place: route, isStage: false, error: error, handled: MatchedRoutes()))
    }
}

extension RoutingRule {
    /// A condition in the order in which a rule's conditions are judged.
    package struct JudgedCondition {
        /// The key of `when`, such as `bucket` or `data`.
        package let name: String
        /// The key of the data, where ``name`` is `data`.
        package let key: String?
        /// Where it stands; nil for the certainty that a rule asks for without saying so.
        package let position: SourcePosition?
        /// Whether there is a message that misses it.
        package let canMiss: Bool
    }

    /// The conditions in the order in which they are judged, which is that of ``explain(_:)``.
    package var judgedConditions: [JudgedCondition] {
        func condition(_ name: String, _ key: String?, canMiss: Bool) -> JudgedCondition {
            let place = conditions.first { condition in
                condition.name == name
                    && (key.map { condition.key?.isExactly($0) == true } ?? (condition.key == nil))
            }
            return JudgedCondition(name: name, key: key, position: place?.position, canMiss: canMiss)
        }
        return judged.map { judged in
            let takesAll = judged == .certainty && Certainty.allCases.allSatisfy(criteria.certainty.contains)
            return condition(judged.rawValue, nil, canMiss: !takesAll)
        } + criteria.data.map { condition("data", $0.key, canMiss: true) }
    }

    private static let behindTheKind = WhenCondition.allCases.filter { $0 != .kind }

    private var judged: [WhenCondition] {
        WhenCondition.allCases.filter { $0 == .certainty || $0.isSet(in: criteria) }
    }

    /// How many of the conditions hold for a message, up to the first that does not; all of them when the rule takes
    /// it.
    package func heldConditions(_ message: PushMessage) -> Int {
        var held = 0
        // Asked of every rule for every message: most rules miss here, and need not be asked condition by condition.
        if criteria.kinds != .all {
            guard criteria.kinds.contains(KindSet(message.kind)) else { return 0 }
            held = 1
        }
        for condition in Self.behindTheKind where condition == .certainty || condition.isSet(in: criteria) {
            guard condition.holds(criteria, message) else { return held }
            held += 1
        }
        for condition in criteria.data {
            guard condition.holds(for: message) else { return held }
            held += 1
        }
        return held
    }
}
