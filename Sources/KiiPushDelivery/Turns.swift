import KiiPush

/// Decides which route, group and lane may have a turn now.
protocol TurnJudge {
    mutating func mayTake(route: ResourceKey) -> Bool
    mutating func mayTake(group: ResourceKey) -> Bool
    mutating func mayTake(lane: LaneKey) -> Bool
}

/// The lanes that wait for their turn: routes take turns, then the groups of a route, then the lanes of a group.
///
/// So the message of a quiet key is next, however many of a busy key wait. A turn costs the same however many wait, as
/// long as the judge refuses only keys that exceed a share, which are few.
struct Turns {
    private struct Group {
        var lanes = ShortQueue<LaneKey>()

        mutating func next(_ judge: inout some TurnJudge) -> LaneKey? {
            for _ in 0..<lanes.count {
                guard let lane = lanes.popFirst() else { return nil }
                if judge.mayTake(lane: lane) { return lane }
                lanes.append(lane)
            }
            return nil
        }
    }

    private struct Route {
        var groups: [ResourceKey: Group] = [:]
        var order = ShortQueue<ResourceKey>()

        mutating func append(_ lane: LaneKey, _ group: ResourceKey) {
            if groups[group] == nil { order.append(group) }
            groups[group, default: Group()].lanes.append(lane)
        }

        mutating func next(_ judge: inout some TurnJudge) -> LaneKey? {
            for _ in 0..<order.count {
                guard let group = order.popFirst() else { return nil }
                let lane = judge.mayTake(group: group) ? groups[group]?.next(&judge) : nil
                if groups[group]?.lanes.isEmpty ?? true { groups[group] = nil } else { order.append(group) }
                if let lane { return lane }
            }
            return nil
        }
    }

    private var routes: [ResourceKey: Route] = [:]
    private var order = ShortQueue<ResourceKey>()

    /// Adds a lane behind the others of its group; the caller adds none twice.
    mutating func append(_ lane: LaneKey, _ keys: ShareKeys) {
        if routes[keys.route] == nil { order.append(keys.route) }
        routes[keys.route, default: Route()].append(lane, keys.group)
    }

    /// Removes and returns the lane whose turn it is; nil if none may have a turn.
    mutating func next(_ judge: inout some TurnJudge) -> LaneKey? {
        for _ in 0..<order.count {
            guard let route = order.popFirst() else { return nil }
            let lane = judge.mayTake(route: route) ? routes[route]?.next(&judge) : nil
            if routes[route]?.groups.isEmpty ?? true { routes[route] = nil } else { order.append(route) }
            if let lane { return lane }
        }
        return nil
    }
}

/// How many messages of each route and each group run.
struct Running: TurnJudge {
    /// How many may run at once; one place is reserved for other routes, and one more for other groups of a route.
    var most: Int
    private(set) var count = 0
    private var routes: [ResourceKey: Int] = [:]
    private var groups: [ResourceKey: Int] = [:]

    init(most: Int) { self.most = most }

    func mayTake(route: ResourceKey) -> Bool { routes[route, default: 0] < max(most - 1, 1) }
    func mayTake(group: ResourceKey) -> Bool { groups[group, default: 0] < max(most - 2, 1) }
    func mayTake(lane: LaneKey) -> Bool { true }

    func mayTake(_ keys: ShareKeys) -> Bool { mayTake(route: keys.route) && mayTake(group: keys.group) }

    mutating func begin(_ keys: ShareKeys) {
        count += 1
        routes[keys.route, default: 0] += 1
        groups[keys.group, default: 0] += 1
    }

    mutating func end(_ keys: ShareKeys) {
        count -= 1
        routes.lower(keys.route)
        groups.lower(keys.group)
    }
}

extension [ResourceKey: Int] {
    fileprivate mutating func lower(_ key: ResourceKey) {
        guard let index = index(forKey: key) else { return }
        if values[index] > 1 { values[index] -= 1 } else { remove(at: index) }
    }
}
