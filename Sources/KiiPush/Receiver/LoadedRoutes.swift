import Synchronization

/// What a receiver knows of routes that are kept elsewhere, such as a rules file's.
struct LoadedRoutes {
    /// The handlers that they may name.
    var handlers: [ExactText: RouteHandler.Taking<PushMessage>] = [:]
    /// Where they stand among all; nil before the first load.
    var routes: Range<Int>?
    /// How often they were loaded.
    var generation = 0
    /// What the chain has from such a file; nil for a receiver that was not made of one.
    var chain: ChainSettings?
}

/// What a receiver's chain took from the settings that the receiver was made of.
package struct ChainSettings: Sendable {
    /// The app that code gave in place of the file's.
    package let givenApp: String?
    package let app: String?
    package let serving: ScopePattern?
    package let dedupe: SeenWindow

    package init(givenApp: String?, app: String?, serving: ScopePattern?, dedupe: SeenWindow) {
        self.givenApp = givenApp
        self.app = givenApp ?? app
        self.serving = serving
        self.dedupe = dedupe
    }
}

extension PushReceiver {
    /// What the chain has from the settings that the receiver was made of; nil for one that was made of none.
    package var chainSettings: ChainSettings? {
        get { setup.withLock { $0.loaded.chain } }
        set { setup.withLock { $0.loaded.chain = newValue } }
    }

    /// Registers a handler under the name by which rules call it.
    ///
    /// Registering makes no route: a handler that no rule names is never called. One name again takes the place of the
    /// first the next time that rules are loaded.
    ///
    /// - Parameters:
    ///   - name: the name.
    ///   - handler: called with each message of the rules that name it; one that throws is the outcome
    ///     ``Outcome/failed(_:)``.
    public func register(
        _ name: String, handler: @escaping @Sendable (PushMessage, HandlerContext) async throws -> Void
    ) {
        setup.withLock { $0.loaded.handlers[ExactText(name)] = handler }
    }

    /// Puts routes among the receiver's, in place of those that were loaded before.
    ///
    /// They stand where the first ones were loaded: behind the routes that code had declared by then, before those that
    /// it declared later. The whole table changes at once; a message that is on its way keeps the routes that it was
    /// given. A route that has the id of an earlier one goes on with its counts.
    ///
    /// - Parameter compile: makes the routes, given the registered handlers and whether code declares a route of an id;
    ///   it is called again where the routes have changed meanwhile.
    /// - Returns: the generation of the table: how often routes were loaded.
    /// - Throws: what `compile` throws; nothing has changed then.
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
            let isDone = changeSetup { setup in
                guard setup.revision == before else { return false }
                loaded.takeCounts(of: setup.routes[own])
                setup.loaded.routes = own.lowerBound..<(own.lowerBound + loaded.count)
                setup.loaded.generation += 1
                setup.replaceRoutes(all, table)
                return true
            }
            if isDone { return table.generation }
        }
    }

    /// How often rules were loaded; 0 before the first time.
    public var rulesGeneration: Int { setup.withLock { $0.loaded.generation } }

    /// The routes in order of declaration, those of rules among them.
    public var routes: [Route] { setup.withLock { $0.routes } }
}

extension [Route] {
    /// Goes on with the counts of routes that had the same ids; of messages on their way the old ones keep theirs.
    fileprivate func takeCounts(of earlier: ArraySlice<Route>) {
        var byID: [ExactText: Route] = [:]
        for route in earlier { byID[ExactText(route.id)] = route }
        for route in self {
            guard let before = byID[ExactText(route.id)] else { continue }
            route.handled.add(before.handled.load(ordering: .relaxed), ordering: .relaxed)
            route.failed.add(before.failed.load(ordering: .relaxed), ordering: .relaxed)
            route.held.add(before.held.load(ordering: .relaxed), ordering: .relaxed)
            route.expired.add(before.expired.load(ordering: .relaxed), ordering: .relaxed)
        }
    }
}
