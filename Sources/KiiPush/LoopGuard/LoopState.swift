/// The state of a loop guard: a state machine without a clock of its own.
struct LoopState {
    var identities: Identities
    var settings: LoopSettings {
        didSet {
            layers = LayerMask(settings.layers)
            limits = RateLimits(settings.rate)
        }
    }
    private var layers: LayerMask
    private var limits: RateLimits
    var killSwitch = KillSwitch()
    var writes = OwnWrites()
    var stamps = StampMemory()
    var breakers = RateBreakers()
    var lastHeld: UInt64 = 0
    var listeners = Listeners<LoopRisk>()

    init(_ identities: Identities, _ settings: LoopSettings) {
        self.identities = identities
        self.settings = settings
        layers = LayerMask(settings.layers)
        limits = RateLimits(settings.rate)
    }
}

/// The layers that are on, as booleans: a set would cost five hashes for each message.
private struct LayerMask {
    let identity: Bool
    let echo: Bool
    let lineage: Bool
    let rate: Bool
    let killSwitch: Bool

    init(_ layers: Set<LoopLayer>) {
        identity = layers.contains(.identity)
        echo = layers.contains(.echo)
        lineage = layers.contains(.lineage)
        rate = layers.contains(.rate)
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
        // A held message arrived before the writes that are expected now, and was compared with earlier ones then.
        guard case .none = message.bypass else { return false }
        guard message.isOfApp else { return false }
        let event = OwnWrites.Event(
            change: ObjectChange(eventOf: message.message.storage), modifiedAt: message.message.modifiedAt,
            arrivedAt: message.arrivedAt, author: identities.author(of: message.message))
        let object = ResourceKey(objectOf: message.message, secret)
        guard writes.take(object, event, now: message.admittedAt) else { return false }
        stamps.ownEventCame(of: object)
        return true
    }

    /// Judges each route in order; drops a message that is killed as a whole.
    mutating func judgeRoutes(_ message: inout RoutedMessage, _ secret: DedupeSecret) -> Verdict {
        var kills: ActiveKills?
        if layers.killSwitch, !killSwitch.isIdle {
            let active = ActiveKills(killSwitch.targets(at: message.admittedAt).keys)
            if active.stop(message.message, app: message.app) { return .drop(.looped(.killSwitch)) }
            kills = active
        }
        // By index, because a loop over the values would copy them; a stopped route is removed, so the next one has its
        // index.
        var index = 0
        while index < message.routes.count {
            if let stop = stop(&message, index, kills, secret) {
                message.stop(message.routes[index], stop)
            } else {
                index += 1
            }
        }
        // Set only here: a route that was killed above has not been counted.
        message.isCounted = layers.rate
        return .pass
    }

    /// Why a route is stopped; nil if it is not.
    @inline(__always)
    private mutating func stop(
        _ message: inout RoutedMessage, _ index: Int, _ kills: ActiveKills?, _ secret: DedupeSecret
    ) -> RoutedMessage.Stop? {
        if let kills, kills.stop(route: message.routes[index].id) { return .drop(.looped(.killSwitch)) }
        guard layers.rate, !message.routes[index].isUnlimited else { return nil }
        let keys = RateKeys(message.message, at: message.place, for: message.routes[index], secret)
        if message.isSpecial, message.bypass.isFrom(keys) { return nil }
        let answer = breakers.judge(
            keys, message.routes[index].limits ?? limits, device: limits.device,
            Arrival(
                time: message.arrivedAt.nanoseconds, now: message.admittedAt.nanoseconds,
                kind: message.message.storage.arrivalKind))
        if case .hold(let breaker) = answer { return .hold(breaker) }
        return nil
    }
}
