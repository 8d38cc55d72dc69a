import KiiPush

/// The lanes that wait for a turn: routes take turns, then the groups of a route, then the lanes of a group.
///
/// So the message of a quiet key is next, however many of a busy key wait, and a turn costs the same.
struct Turns {
    private var routes = ShortQueue<ResourceKey>()
    private var groups: [ResourceKey: ShortQueue<ShareKeys>] = [:]
    private var lanes: [ShareKeys: ShortQueue<LaneKey>] = [:]

    var isEmpty: Bool { routes.isEmpty }

    /// Whether lanes of these keys wait.
    func holds(_ keys: ShareKeys) -> Bool { lanes[keys] != nil }

    /// Adds a lane behind the others of its group; the caller adds none twice.
    mutating func append(_ lane: LaneKey, _ keys: ShareKeys) {
        if groups[keys.route] == nil { routes.append(keys.route) }
        if lanes[keys] == nil { groups[keys.route, default: ShortQueue()].append(keys) }
        lanes[keys, default: ShortQueue()].append(lane)
    }

    /// Removes and returns the lane whose turn it is; nil if no route or no group may have one.
    mutating func next(_ mayTake: (Capacity.Sharer) -> Bool) -> LaneKey? {
        for _ in 0..<routes.count {
            guard let route = routes.popFirst() else { return nil }
            let lane = mayTake(.route(route)) ? next(of: route, mayTake) : nil
            if groups[route]?.isEmpty ?? true { groups[route] = nil } else { routes.append(route) }
            if let lane { return lane }
        }
        return nil
    }

    private mutating func next(of route: ResourceKey, _ mayTake: (Capacity.Sharer) -> Bool) -> LaneKey? {
        for _ in 0..<(groups[route]?.count ?? 0) {
            guard let keys = groups[route]?.popFirst() else { return nil }
            let lane = mayTake(.group(keys.group)) ? lanes[keys]?.popFirst() : nil
            if lanes[keys]?.isEmpty ?? true { lanes[keys] = nil } else { groups[route]?.append(keys) }
            if let lane { return lane }
        }
        return nil
    }
}
