/// The state of a loop guard: a state machine without a clock of its own.
struct LoopState {
    var identities: Identities
    var settings: LoopSettings {
        didSet { layers = LayerMask(settings.layers) }
    }
    private var layers: LayerMask
    var killSwitch = KillSwitch()
    var writes = OwnWrites()
    var stamps = StampMemory()
    var paces = Paces()
    var budgets = WriteBudgets()
    var listeners = Listeners<LoopRisk>()
    var paceListeners = Listeners<PacedKey>()

    init(_ identities: Identities, _ settings: LoopSettings) {
        self.identities = identities
        self.settings = settings
        layers = LayerMask(settings.layers)
    }
}

/// The layers that are on, as booleans: a set would cost five hashes for each message.
private struct LayerMask {
    let identity: Bool
    let echo: Bool
    let lineage: Bool
    let pace: Bool
    let killSwitch: Bool

    init(_ layers: Set<LoopLayer>) {
        identity = layers.contains(.identity)
        echo = layers.contains(.echo)
        lineage = layers.contains(.lineage)
        pace = layers.contains(.pace)
        killSwitch = layers.contains(.killSwitch)
    }
}

extension LoopState {
    /// The layer that drops a whole message.
    // It does not change the message; `inout` avoids a copy.
    mutating func layerThatEnds(_ message: inout RoutedMessage, _ secret: DedupeSecret) -> LoopLayer? {
        if layers.identity, identities.isMe(message.message) { return .identity }
        if layers.echo, !writes.isIdle, isEcho(message, secret) { return .echo }
        if layers.lineage, message.message.storage.stamp.isPresent,
            let hops = message.message.lineage?.hops, hops > settings.hops
        {
            return .lineage
        }
        return nil
    }

    private mutating func isEcho(_ message: RoutedMessage, _ secret: DedupeSecret) -> Bool {
        guard message.message.storage.classified.hasObject else { return false }
        // A replayed message arrived before the writes that are expected now.
        if case .all = message.bypass { return false }
        guard message.isOfApp else { return false }
        let event = OwnWrites.Event(
            change: ObjectChange(eventOf: message.message.storage), modifiedAt: message.message.modifiedAt,
            arrivedAt: message.arrivedAt, author: identities.author(of: message.message))
        let object = ResourceKey(objectOf: message.message, secret)
        guard writes.take(object, event, now: message.admittedAt) else { return false }
        stamps.ownEventCame(of: object)
        return true
    }

    /// Drops a message that is killed as a whole, and stops the routes that are killed.
    mutating func stopKilled(_ message: inout RoutedMessage, _ secret: DedupeSecret) -> Bool {
        guard layers.killSwitch, !killSwitch.isIdle else { return false }
        let kills = ActiveKills(killSwitch.targets(at: message.admittedAt).keys)
        if kills.stop(message.message, app: message.app) { return true }
        for route in message.routes where kills.stop(route: route.id) {
            if message.heard != .no { paces.leave(message, route, secret) }
            message.stop(route, .looped(.killSwitch))
        }
        return false
    }

    /// Hears a message that was not heard when it arrived, and asks whether it may be handled now.
    mutating func pace(_ message: inout RoutedMessage, _ secret: DedupeSecret) -> Verdict {
        guard layers.pace else { return .pass }
        switch message.bypass {
        case .all: return .pass
        case .superseded:
            if message.heard != .no { paces.leave(message, isSuperseded: true, secret) }
            message.heard = .no
            return .pass
        case .none, .seen: break
        }
        if message.heard == .no { paces.hear(&message, isInLane: false, isAgain: false, secret) }
        switch paces.ask(message, secret) {
        case .pass(let isFromFloor):
            (message.heard, message.isCounted) = (.no, isFromFloor)
            return .pass
        case .later(let until): return .later(until: MonotonicInstant(seconds: until))
        case .superseded:
            message.heard = .no
            return .drop(.superseded)
        }
    }

    /// Hears a message that waits in the lane of a service from now on.
    mutating func hear(_ message: inout RoutedMessage, isAgain: Bool, _ secret: DedupeSecret) {
        if layers.pace { paces.hear(&message, isInLane: true, isAgain: isAgain, secret) }
    }
}

extension LoopState {
    /// The key that has just begun to let messages wait, and the listener to tell.
    mutating func takeNews() -> (key: PacedKey, listener: @Sendable (PacedKey) -> Void)? {
        guard let key = paces.takeNews(), let listener = paceListeners.call else { return nil }
        return (key, listener)
    }
}

extension MonotonicInstant {
    /// Seconds since the clock's beginning.
    var seconds: Double { Double(nanoseconds) / 1e9 }

    /// The instant after a number of seconds: a microsecond later, so that rounding makes it never earlier.
    init(seconds: Double) { self.init(nanoseconds: Int64(min(seconds * 1e6 + 1, 9e15).rounded(.up)) * 1000) }
}
