import Synchronization

/// A receiver's state for routes that are kept elsewhere, such as in a rules file.
struct LoadedRoutes {
    /// The handlers that they may name.
    var handlers: [ExactText: RouteHandler.Taking<PushMessage>] = [:]
    /// Their positions among all routes; nil before the first load.
    var routes: Range<Int>?
    /// How often they were loaded.
    var generation = 0
    var chain: PushReceiver.ChainSettings?
}

extension PushReceiver {
    /// What the chain of a receiver that was made from such a file follows: the app that code set, which overrides the
    /// file's, the scopes that are served, and the window.
    package typealias ChainSettings = (app: String?, serving: ScopePattern?, dedupe: SeenWindow)

    /// What its chain follows; nil for a receiver that was not made from a file.
    package var chainSettings: ChainSettings? {
        get { setup.withLock { $0.loaded.chain } }
        set { setup.withLock { $0.loaded.chain = newValue } }
    }

    /// Loads routes into the receiver, in place of those that were loaded before and in their position.
    ///
    /// The whole table changes at once; a message in progress keeps its routes. A route with the id of an earlier one
    /// continues its counts.
    ///
    /// - Parameter compile: makes the routes, given the registered handlers and whether code declares a route with an
    ///   id; it is called again if the routes have changed meanwhile.
    /// - Returns: the generation of the table: how often routes were loaded.
    /// - Throws: the error of `compile`; then nothing has changed.
    package func load<Failure: Error>(
        _ compile: ([ExactText: RouteHandler.Taking<PushMessage>], (String) -> Bool) throws(Failure) -> [Route]
    ) throws(Failure) -> Int {
        while true {
            let (before, routes, known) = setup.withLock { ($0.revision, $0.routes, $0.loaded) }
            // Outside the lock: ten thousand rules take milliseconds, and messages keep coming.
            let own = known.routes ?? routes.count..<routes.count
            let declared = Set((routes[..<own.lowerBound] + routes[own.upperBound...]).map { ExactText($0.id) })
            let loaded = try compile(known.handlers) { declared.contains(ExactText($0)) }
            var all = routes
            all.replaceSubrange(own, with: loaded)
            let table = RouteTable(all, generation: known.generation + 1)
            // What goes is released outside of the lock: the end of what a handler has captured may call back.
            let replaced = setup.withLock { setup -> ([Route], RouteTable?)? in
                guard setup.revision == before else { return nil }
                let replaced = (setup.routes, setup.table)
                loaded.takeCounts(of: setup.routes[own])
                setup.loaded.routes = own.lowerBound..<(own.lowerBound + loaded.count)
                setup.loaded.generation += 1
                setup.replaceRoutes(all, table)
                return replaced
            }
            if replaced != nil { return table.generation }
        }
    }

    /// How often rules were loaded; 0 before the first load.
    package var rulesGeneration: Int { setup.withLock { $0.loaded.generation } }

    /// The names of the handlers that rules may call.
    package var handlerNames: Set<ExactText> { setup.withLock { Set($0.loaded.handlers.keys) } }

    /// The routes in order of declaration, including those of rules.
    public var routes: [Route] { setup.withLock { $0.routes } }
}

extension [Route] {
    /// Continues the counts of earlier routes with the same ids; messages in progress still count for the old routes.
    fileprivate func takeCounts(of earlier: ArraySlice<Route>) {
        var byID: [ExactText: Route] = [:]
        for route in earlier { byID[ExactText(route.id)] = route }
        for route in self {
            guard let before = byID[ExactText(route.id)] else { continue }
            route.handled.add(before.handled.load(ordering: .relaxed), ordering: .relaxed)
            route.failed.add(before.failed.load(ordering: .relaxed), ordering: .relaxed)
            route.paced.add(before.paced.load(ordering: .relaxed), ordering: .relaxed)
            route.expired.add(before.expired.load(ordering: .relaxed), ordering: .relaxed)
        }
    }
}

extension HandlerRegistry {
    /// Registers a handler under the name that rules use for it; it adds no route.
    ///
    /// A second handler with the same name replaces the first one the next time that rules are loaded. If it throws,
    /// the outcome is ``Outcome/failed(_:)``.
    public func register(
        _ name: String, handler: @escaping @Sendable (PushMessage, HandlerContext) async throws -> Void
    ) {
        _ = receiver.setup.withLock { $0.loaded.handlers.updateValue(handler, forKey: ExactText(name)) }
    }
}
