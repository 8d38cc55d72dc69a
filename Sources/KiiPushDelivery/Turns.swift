import KiiPush

/// Those that wait for a turn, such as lanes: routes take turns, then the groups of a route, then those of a group.
///
/// So the message of a quiet key is next, however many of a busy key wait, and a turn costs the same.
struct Turns<Waiter> {
    private var routes = ShortQueue<ResourceKey>()
    private var groups: [ResourceKey: ShortQueue<ShareKeys>] = [:]
    private var waiters: [ShareKeys: ShortQueue<Waiter>] = [:]

    /// Whether some with these keys wait.
    func holds(_ keys: ShareKeys) -> Bool { waiters[keys] != nil }

    /// Adds one behind the others of its group; the caller adds none twice.
    mutating func append(_ waiter: Waiter, _ keys: ShareKeys) {
        if groups[keys.route] == nil { routes.append(keys.route) }
        if waiters[keys] == nil { groups[keys.route, default: ShortQueue()].append(keys) }
        waiters[keys, default: ShortQueue()].append(waiter)
    }

    /// Removes and returns the one whose turn it is; nil if no route or no group may have one.
    mutating func next(_ mayTake: (Capacity.Sharer) -> Bool) -> Waiter? {
        for _ in 0..<routes.count {
            guard let route = routes.popFirst() else { return nil }
            let waiter = mayTake(.route(route)) ? next(of: route, mayTake) : nil
            if groups[route]?.isEmpty ?? true { groups[route] = nil } else { routes.append(route) }
            if let waiter { return waiter }
        }
        return nil
    }

    private mutating func next(of route: ResourceKey, _ mayTake: (Capacity.Sharer) -> Bool) -> Waiter? {
        for _ in 0..<(groups[route]?.count ?? 0) {
            guard let keys = groups[route]?.popFirst() else { return nil }
            let waiter = mayTake(.group(keys.group)) ? waiters[keys]?.popFirst() : nil
            if waiters[keys]?.isEmpty ?? true { waiters[keys] = nil } else { groups[route]?.append(keys) }
            if let waiter { return waiter }
        }
        return nil
    }
}
