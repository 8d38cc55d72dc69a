/// All that a loop guard knows: a state machine without a clock of its own.
struct LoopState {
    var identities: Identities
    var settings: LoopSettings {
        didSet {
            layers = LayerMask(settings.layers)
            limits = Breaker.Limits(settings.rate)
        }
    }
    private var layers: LayerMask
    private var limits: Breaker.Limits
    var killSwitch = KillSwitch()
    var writes = OwnWrites()
    var breakers = RateBreakers()
    var lastHeld: UInt64 = 0
    var listener: (@Sendable (LoopRisk) -> Void)?

    init(_ identities: Identities, _ settings: LoopSettings) {
        self.identities = identities
        self.settings = settings
        layers = LayerMask(settings.layers)
        limits = Breaker.Limits(settings.rate)
    }
}

/// Which layers are on, as bits: asking a set of names costs a hash each, and five are asked for each message.
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
    /// The layer that ends a message as a whole.
    mutating func layerThatEnds(_ message: RoutedMessage, _ secret: DedupeSecret) -> LoopLayer? {
        if layers.identity, identities.isMe(message.message) { return .identity }
        if layers.echo, isEcho(message, secret) { return .echo }
        if layers.lineage, message.message.storage.stamp.isPresent,
            let hops = message.message.lineage?.hops, hops > settings.hops
        {
            return .lineage
        }
        return nil
    }

    private mutating func isEcho(_ message: RoutedMessage, _ secret: DedupeSecret) -> Bool {
        guard !writes.isIdle, message.message.storage.reading.hasObject else { return false }
        // One that was held came before the writes that are announced now, and was asked for those before.
        guard case .none = message.permit else { return false }
        guard identities.mayHaveWritten(message.message), message.isOfApp else { return false }
        let key = PlaceKey(objectOf: message.message, secret)
        return writes.take(key, modifiedAt: message.message.modifiedAt, now: message.judgedAt)
    }

    /// Judges each route in its order; a message that is killed as a whole is ended.
    mutating func judgeRoutes(_ message: inout RoutedMessage, _ secret: DedupeSecret) -> Verdict {
        var kills: ActiveKills?
        if layers.killSwitch, !killSwitch.isIdle {
            let active = ActiveKills(killSwitch.targets(at: message.judgedAt).keys)
            if active.stop(message.message, app: message.app) { return .drop(.looped(.killSwitch)) }
            kills = active
        }
        let isLimited = layers.rate
        for route in message.routes {
            if let kills, kills.stop(route: route.id) {
                message.stop(route, .drop(.looped(.killSwitch)))
            } else if isLimited {
                judgeRate(&message, route, secret)
            }
        }
        // Only now: a route that was killed above has not been counted.
        message.isCounted = isLimited
        return .pass
    }

    private mutating func judgeRate(_ message: inout RoutedMessage, _ route: Route, _ secret: DedupeSecret) {
        if route.isUnlimited { return }
        let keys = RateKeys(message.message, route, secret)
        if message.isSpecial, message.permit.isFrom(keys) { return }
        let isNew = !message.message.raw.isRedelivered
        switch breakers.judge(keys, route.limits ?? limits, message.judgedAt.nanoseconds, isNew: isNew) {
        case .pass: break
        case .passAsProbe(let breakers): message.probe(breakers)
        case .hold(let breaker): message.stop(route, .hold(breaker))
        }
    }
}
