import KiiPush

/// A number of messages, and their bytes.
struct Use: Sendable, Hashable {
    var messages = 1
    var bytes = 0

    static let none = Use(messages: 0)

    static func + (left: Use, right: Use) -> Use {
        Use(messages: left.messages + right.messages, bytes: left.bytes + right.bytes)
    }

    static prefix func - (use: Use) -> Use { Use(messages: -use.messages, bytes: -use.bytes) }
}

/// The keys by which messages share a service's capacity.
struct ShareKeys: Sendable, Hashable {
    /// The first route that matches.
    let route: ResourceKey
    /// The bucket or topic in its scope; the sender of a message that has neither, or else the route.
    let group: ResourceKey
}

extension ShareKeys {
    init(_ message: RoutedMessage) {
        let first = message.routes.first?.digest ?? DedupeKey(first: 0, second: 0)
        route = ResourceKey(digest: first)
        group = ResourceKey(groupOf: message.message) ?? route
    }
}

/// How much of a bound is used, in all and by each of those who share it: that of the memory, that of the disk, and the
/// places of what runs.
///
/// One rule keeps memory and disk fair: a route, or one of several transports, may use as much as is free, a group half
/// of that, and a lane an eighth. So the first one takes half at most, the next one half of the rest; who uses nothing
/// may have the last that is free.
struct Capacity {
    /// Who shares it.
    enum Sharer: Hashable {
        case transport(Int), route(ResourceKey), group(ResourceKey), lane(LaneKey)

        /// The part of what is free that it may use: one in so many.
        var part: Int {
            switch self {
            case .transport, .route: 1
            case .group: 2
            case .lane: 8
            }
        }
    }

    let most: Use
    private(set) var used = Use.none
    private var uses: [Sharer: Use] = [:]

    init(messages: Int, bytes: Int) { most = Use(messages: messages, bytes: bytes) }

    var free: Use { most + -used }

    /// Whether anything is free.
    var isOpen: Bool { used.messages < most.messages && used.bytes < most.bytes }

    /// Whether a use fits; one that is larger than the bound fits alone.
    func fits(_ use: Use) -> Bool {
        if used.messages == 0 { return most.messages > 0 }
        return use.messages <= free.messages && use.bytes <= free.bytes
    }

    /// Whether a message fits, and its route, its group and, in memory, its lane may use more.
    func hasRoom(_ use: Use, _ keys: ShareKeys, _ lane: LaneKey? = nil) -> Bool {
        guard fits(use), isOpen(.route(keys.route)), isOpen(.group(keys.group)) else { return false }
        return lane.map { isOpen(.lane($0)) } ?? true
    }

    /// Whether a sharer may use more; with `isLow`, whether it uses less than three quarters of what it may.
    func isOpen(_ sharer: Sharer, isLow: Bool = false) -> Bool {
        guard let use = uses[sharer] else { return true }
        func isBelow(_ use: Int, _ free: Int) -> Bool { use * sharer.part < (isLow ? free - free / 4 : free) }
        return isBelow(use.messages, free.messages) && isBelow(use.bytes, free.bytes)
    }

    /// Whether one more message of a route or a group may run in so many places: one is reserved for other routes, and
    /// one more for other groups of a route.
    func mayRun(_ sharer: Sharer, among places: Int) -> Bool {
        let reserved = if case .group = sharer { 2 } else { 1 }
        return (uses[sharer]?.messages ?? 0) < max(places - reserved, 1)
    }

    /// Adds a use of a message's route, group and lane, or takes it back if it is negative.
    mutating func add(_ use: Use, _ keys: ShareKeys, _ lane: LaneKey? = nil) {
        used = used + use
        note(use, .route(keys.route))
        note(use, .group(keys.group))
        if case .place? = lane, let lane { note(use, .lane(lane)) }
    }

    /// Adds a use of a transport, whose messages' keys are not known yet, or takes it back.
    mutating func add(_ use: Use, transport: Int?) {
        used = used + use
        if let transport { note(use, .transport(transport)) }
    }

    private mutating func note(_ use: Use, _ sharer: Sharer) {
        let sum = (uses[sharer] ?? .none) + use
        uses[sharer] = sum.messages > 0 ? sum : nil
    }
}
