// A walk's routes and tries, and how they decide its outcome.

extension MessageWalk {
    /// How often it was tried: runs of its handlers, and failures of stages.
    package var tries: Int { attempts + stageFailures }

    /// Whether it waits for its first turn.
    package var isUntried: Bool {
        if case .handle = purpose { tries == 0 } else { false }
    }

    /// The routes that still have to handle it.
    package var remaining: [Route] { message.routes.filter { !hasEnded($0.id) } }

    /// The routes that never get it again, in this process or the next.
    package var done: [String] { ends.filter { $0.end.isDone }.map(\.route) }

    /// Its routes that are done with it.
    package var succeeded: MatchedRoutes {
        guard message.routes.contains(where: { !isDone($0.id) }) else { return message.routes }
        return MatchedRoutes(message.routes.filter { isDone($0.id) })
    }

    /// Whether a route is done with it.
    package func isDone(_ route: String) -> Bool { ends.contains { $0.end.isDone && $0.route.isExactly(route) } }

    /// The routes that have not handled it: those that pass or were switched off; if the chain has stopped all of them,
    /// those that `match` returns.
    package func open(_ match: () -> MatchedRoutes) -> [String] {
        let killed = ends.filter { $0.end == .switchedOff }.map(\.route)
        let left = remaining.map(\.id) + killed
        return left.isEmpty ? match().ids.filter { !isDone($0) } : left
    }

    /// Its outcome when no route is left that failed.
    var outcome: Outcome {
        for end in ends {
            if case .looped(let layer) = end.end { return .looped(layer) }
        }
        return !hasDone && ends.contains { $0.end == .expired } ? .expired : .handled(succeeded)
    }

    var hasDone: Bool { ends.contains { $0.end.isDone } }

    func hasEnded(_ route: String) -> Bool { ends.contains { $0.route.isExactly(route) } }
}

extension MessageWalk {
    /// The only attempt has failed, so the transport must deliver it again.
    func failedForGood(_ failure: Outcome.Failure) -> Step {
        // A route that ended a loop runs again, and ends it again.
        let handled = message.routes.filter { route in
            ends.contains { $0.end == .handled && $0.route.isExactly(route.id) }
        }
        return .end(
            .failed(
                Outcome.Failure(
                    place: failure.place, isStage: failure.isStage, error: failure.error,
                    handled: MatchedRoutes(handled))))
    }
}

extension MessageWalk.Judgement {
    /// How a message ends that a newer change has replaced: the chain has to know it, or its copy would be new.
    var ofReplaced: Outcome {
        switch self {
        case .end(.failed), .handle, .later, .wait: .superseded
        case .end(let outcome): outcome
        }
    }
}

extension Outcome {
    var isHandled: Bool { if case .handled = self { true } else { false } }
}

/// How routes have ended, in order; the first one without an array, since most messages have one route.
struct RouteEnds: Sendable, RandomAccessCollection {
    struct Element: Sendable {
        let route: String
        var end: MessageWalk.RouteEnd
    }

    private var head: Element?
    private var rest: [Element] = []

    init() {}

    init(_ routes: [String], _ end: MessageWalk.RouteEnd) {
        for route in routes { append(route, end) }
    }

    var startIndex: Int { 0 }
    var endIndex: Int { head == nil ? 0 : rest.count + 1 }

    subscript(position: Int) -> Element {
        if position == 0, let head { return head }
        return rest[position - 1]
    }

    mutating func append(_ route: String, _ end: MessageWalk.RouteEnd) {
        let element = Element(route: route, end: end)
        if head == nil { head = element } else { rest.append(element) }
    }

    mutating func replace(_ old: MessageWalk.RouteEnd, with new: MessageWalk.RouteEnd) {
        if head?.end == old { head?.end = new }
        for index in rest.indices where rest[index].end == old { rest[index].end = new }
    }
}
