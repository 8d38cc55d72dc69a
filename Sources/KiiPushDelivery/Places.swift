import KiiPush

/// Messages, and their bytes.
struct Use: Sendable, Hashable {
    var messages = 0
    var bytes = 0

    static func += (use: inout Use, bytes: Int) {
        use.messages += 1
        use.bytes += bytes
    }

    static func -= (use: inout Use, bytes: Int) {
        use.messages -= 1
        use.bytes -= bytes
    }

    /// Whether there is room for another payload; one that is larger than the bound comes alone.
    func hasRoom(_ size: Int, within bound: Use) -> Bool {
        messages == 0 || messages < bound.messages && bytes + size <= bound.bytes
    }

    /// Whether it is below a bound.
    func isBelow(_ bound: Use) -> Bool { messages == 0 || messages < bound.messages && bytes < bound.bytes }

    /// So many quarters of it, but no less than one message.
    func quarters(_ number: Int) -> Use {
        Use(messages: max(messages / 4 * number + messages % 4 * number / 4, 1), bytes: max(bytes / 4 * number, 1))
    }
}

/// How much of a service's places the messages of each lane, each group and each route have.
///
/// A lane has a quarter of them at most, a group half, a route three quarters. A message that finds no place waits in a
/// durable inbox; see ``Spill``.
struct Places {
    let all: Use
    private let lane: Use
    private let group: Use
    private let route: Use
    private(set) var used = Use()
    private var lanes: [ResourceKey: Use] = [:]
    private var groups: [ResourceKey: Use] = [:]
    private var routes: [ResourceKey: Use] = [:]
    private var filled: Set<Filled> = []

    init(_ settings: ServiceSettings) {
        all = Use(messages: max(settings.messages, 1), bytes: max(settings.bytes, 1))
        (lane, group, route) = (all.quarters(1), all.quarters(2), all.quarters(3))
    }

    mutating func enter(_ keys: ShareKeys, _ bytes: Int) {
        used += bytes
        if case .place(let key) = keys.lane { lanes[key, default: Use()] += bytes }
        groups[keys.group, default: Use()] += bytes
        routes[keys.route, default: Use()] += bytes
    }

    mutating func leave(_ keys: ShareKeys, _ bytes: Int) {
        used -= bytes
        if case .place(let key) = keys.lane { lanes.lower(key, bytes) }
        groups.lower(keys.group, bytes)
        routes.lower(keys.route, bytes)
    }

    /// Changes how many there are in all, of an inbox that is not durable.
    mutating func add(_ use: Use) {
        used.messages += use.messages
        used.bytes += use.bytes
    }

    /// Whether a message may have a place.
    func hasRoom(_ keys: ShareKeys, _ bytes: Int) -> Bool {
        guard used.hasRoom(bytes, within: all) else { return false }
        if case .place(let key) = keys.lane, let use = lanes[key], !use.hasRoom(bytes, within: lane) { return false }
        if let use = groups[keys.group], !use.hasRoom(bytes, within: group) { return false }
        if let use = routes[keys.route], !use.hasRoom(bytes, within: route) { return false }
        return true
    }
}

extension [ResourceKey: Use] {
    mutating func lower(_ key: ResourceKey, _ bytes: Int) {
        guard let index = index(forKey: key) else { return }
        if values[index].messages > 1 { values[index] -= bytes } else { remove(at: index) }
    }
}

// MARK: - Filling

/// Chooses what is read back: of groups and lanes that have fallen to three quarters of their share, as much as makes
/// that full, so that each read brings many payloads.
///
/// It refuses only routes that have three quarters of all places, groups that have more than three eighths, and lanes
/// that have more than three sixteenths, so it refuses few.
extension Places: TurnJudge {
    /// Who has begun to be filled.
    enum Filled: Hashable {
        case lane(ResourceKey), group(ResourceKey)
    }

    mutating func startFilling() { filled = [] }

    /// Whether there is any place.
    var isOpen: Bool { used.isBelow(all) }

    func mayTake(route: ResourceKey) -> Bool { routes[route]?.isBelow(self.route) ?? true }

    mutating func mayTake(group: ResourceKey) -> Bool { mayTake(.group(group), groups[group], self.group) }

    mutating func mayTake(lane: LaneKey) -> Bool {
        guard case .place(let key) = lane else { return true }
        return mayTake(.lane(key), lanes[key], self.lane)
    }

    private mutating func mayTake(_ key: Filled, _ use: Use?, _ share: Use) -> Bool {
        guard let use else {
            filled.insert(key)
            return true
        }
        if filled.contains(key) { return use.isBelow(share) }
        guard use.isBelow(share.quarters(3)) else { return false }
        filled.insert(key)
        return true
    }
}

// MARK: - Intakes

/// How many places each transport of a service has whose inbox is not durable, so that none takes all.
///
/// Half of all places are divided among the transports that run, and kept for each; the others are for anybody. Nothing
/// of a message can be known before it has a place, so a transport waits whose messages are many, whatever their keys.
struct IntakePlaces {
    private var uses: [Int: Use] = [:]
    private var running: Set<Int> = []

    mutating func begin(_ intake: Int) { running.insert(intake) }

    mutating func end(_ intake: Int) { running.remove(intake) }

    mutating func add(_ use: Use, _ intake: Int) {
        uses[intake, default: Use()].messages += use.messages
        uses[intake, default: Use()].bytes += use.bytes
    }

    /// What of all places an intake may not take, since it is kept for others.
    func kept(forOthersThan intake: Int, _ all: Use) -> Use {
        guard running.count > 1 else { return Use() }
        let own = Use(messages: all.messages / 2 / running.count, bytes: all.bytes / 2 / running.count)
        return running.reduce(into: Use()) { kept, other in
            guard other != intake else { return }
            let use = uses[other] ?? Use()
            kept.messages += max(own.messages - use.messages, 0)
            kept.bytes += max(own.bytes - use.bytes, 0)
        }
    }
}
