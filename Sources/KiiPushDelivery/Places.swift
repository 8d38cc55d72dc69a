import KiiPush

/// A number of messages, and their bytes.
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

    /// Whether another payload fits; one that is larger than the bound is accepted alone.
    func hasRoom(_ size: Int, within bound: Use) -> Bool {
        messages == 0 || messages < bound.messages && bytes + size <= bound.bytes
    }

    /// Whether it is below a bound.
    func isBelow(_ bound: Use) -> Bool { messages == 0 || messages < bound.messages && bytes < bound.bytes }

    /// The given number of quarters of it, but at least one message.
    func quarters(_ number: Int) -> Use {
        Use(messages: max(messages / 4 * number + messages % 4 * number / 4, 1), bytes: max(bytes / 4 * number, 1))
    }
}

/// A service's places in memory, and how many of them each lane, group and route uses.
///
/// A lane may use a quarter of them, a group half, a route three quarters. A message without a place waits in a durable
/// inbox; see ``Spill``.
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

    /// Changes the total only, for an inbox that is not durable.
    mutating func add(_ use: Use) {
        used.messages += use.messages
        used.bytes += use.bytes
    }

    /// Whether a message may get a place.
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

/// Chooses the payloads to read back: groups and lanes that have fallen to three quarters of their share are filled up,
/// so that each read returns many payloads.
///
/// It refuses only routes that use three quarters of all places, groups that use more than three eighths, and lanes
/// that use more than three sixteenths, so it refuses few.
extension Places: TurnJudge {
    /// A lane or a group that is being filled.
    enum Filled: Hashable {
        case lane(ResourceKey), group(ResourceKey)
    }

    mutating func startFilling() { filled = [] }

    /// Whether a place is free.
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

/// The places of each transport of a service whose inbox is not durable, so that none takes all.
///
/// Half of all places are divided among the running transports and reserved for each; the others are shared. A
/// message's keys are not known before it has a place, so a transport with many messages waits, whatever their keys.
struct IntakePlaces {
    private var uses: [Int: Use] = [:]
    private var running: Set<Int> = []

    mutating func begin(_ intake: Int) { running.insert(intake) }

    mutating func end(_ intake: Int) { running.remove(intake) }

    mutating func add(_ use: Use, _ intake: Int) {
        uses[intake, default: Use()].messages += use.messages
        uses[intake, default: Use()].bytes += use.bytes
    }

    /// The places that are reserved for other intakes.
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
