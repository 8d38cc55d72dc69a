import Synchronization

/// One entry of the routing table: the messages that it matches, and the handler that it calls.
public final class Route: Sendable {
    /// The route's id, unique in its receiver; traces, metrics, outcomes and the kill switch use it.
    public let id: String
    /// How it treats its messages.
    public let options: RouteOptions
    /// How old a message may be when the handler starts; nil for any age, unless the options have no delivery settings
    /// and the settings of a service say otherwise.
    public let maxAge: Duration?

    package let criteria: RouteCriteria
    package let handler: RouteHandler
    /// Whether no pace limits it.
    let isUnlimited: Bool
    /// The limits of messages about an object, and of letters.
    let objects: Pace.Limits
    let letters: Pace.Limits
    /// What counts its messages of new keys: the device, or the route itself if it has a pace of its own.
    let newKeys: PaceKey
    /// The id as two words, for keys that include the route: the same in every process.
    package let digest: DedupeKey
    /// The name of its handler in tests and traces: the name in a rule, else the route's id.
    package let handlerName: String
    let handled = Atomic<Int>(0)
    let failed = Atomic<Int>(0)
    let paced = Atomic<Int>(0)
    let expired = Atomic<Int>(0)

    /// Makes a route; `standardMaxAge` applies if it has no delivery settings of its own.
    package init(
        id: String, criteria: RouteCriteria, options: RouteOptions = .standard, standardMaxAge: Duration? = nil,
        handler: RouteHandler, handlerName: String? = nil
    ) {
        self.id = id
        self.criteria = criteria
        self.options = options
        isUnlimited = options.pace == .unlimited
        let every: Double? = if case .every(let time) = options.pace { Double(time.inNanoseconds) / 1e9 } else { nil }
        objects = .objects(every: every)
        letters = .letters(every: every)
        maxAge = options.delivery == nil ? standardMaxAge : options.delivery?.maxAge
        self.handler = handler
        var digest = KeyedDigest(.published)
        digest.add(0, id)
        let routeKey = digest.finish()
        self.digest = routeKey
        newKeys = every.map { PaceKey(route: routeKey, every: $0) } ?? .device
        self.handlerName = handlerName ?? id
    }
}

/// Whether later routes are tried after one has matched a message.
public enum RouteFlow: Sendable, Hashable {
    /// They are not: the first match wins.
    case stop
    /// They are.
    case `continue`
}

/// The routes that match one message, in order of declaration.
public struct MatchedRoutes: Sendable, RandomAccessCollection, CustomStringConvertible {
    /// An only route is not in an array, because there is rarely another: no allocation, and one reference to count.
    private enum Storage {
        case only(Route?)
        case several([Route])
    }

    private var storage = Storage.only(nil)

    /// No routes.
    public init() {}

    package init(_ routes: some Sequence<Route>) {
        for route in routes { append(route) }
    }

    package init(only route: Route) { storage = .only(route) }

    package mutating func append(_ route: Route) {
        switch storage {
        case .only(nil): storage = .only(route)
        case .only(let first?): storage = .several([first, route])
        case .several(var routes):
            // Or the array would be copied.
            storage = .only(nil)
            routes.append(route)
            storage = .several(routes)
        }
    }

    /// The first index, 0.
    public var startIndex: Int { 0 }
    /// The number of routes.
    public var endIndex: Int {
        switch storage {
        case .only(let route): route == nil ? 0 : 1
        case .several(let routes): routes.count
        }
    }

    /// The route at `position`.
    public subscript(position: Int) -> Route {
        switch storage {
        case .only(let route?) where position == 0: return route
        case .only: preconditionFailure("there is no route at \(position)")
        case .several(let routes): return routes[position]
        }
    }

    /// The ids of the routes.
    public var ids: [String] { map(\.id) }

    /// The ids of the routes.
    public var description: String { "\(ids)" }

    /// The route, if it is the only one.
    var only: Route? { if case .only(let route) = storage { route } else { nil } }

    /// The route with the slowest pace; nil if no pace limits any.
    var slowest: Route? {
        if let only { return only.isUnlimited ? nil : only }
        return filter { !$0.isUnlimited }.max { $0.letters.every < $1.letters.every }
    }

    /// A digest of the routes, in any order.
    var digest: DedupeKey {
        if let only { return only.digest }
        return reduce(DedupeKey(first: 0, second: 0)) { digest, route in
            DedupeKey(first: digest.first ^ route.digest.first, second: digest.second ^ route.digest.second)
        }
    }
}

/// The routing table's result for one message.
package struct RouteMatch {
    package var routes: MatchedRoutes
    /// Whether a route would have matched if the message were not ambiguous.
    package var isTooAmbiguous = false

    package init(_ routes: MatchedRoutes = MatchedRoutes()) { self.routes = routes }
}
