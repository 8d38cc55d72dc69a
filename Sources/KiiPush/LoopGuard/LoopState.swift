/// The state of a loop guard: a state machine without a clock of its own.
struct LoopState {
    var identities: Identities
    var settings: LoopSettings {
        didSet { layers = LayerMask(settings.layers) }
    }
    private var layers: LayerMask
    private let secret = DedupeSecret.ofProcess
    var killSwitch = KillSwitch()
    var writes = OwnWrites()
    var stamps = FoundStamps()
    var paces = Paces()
    var budgets = WriteBudgets()

    init(_ identities: Identities, _ settings: LoopSettings) {
        self.identities = identities
        self.settings = settings
        layers = LayerMask(settings.layers)
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

    // MARK: What ends a message

    /// The layer that drops a whole message.
    // It does not change the message; `inout` avoids a copy.
    mutating func layerThatEnds(_ message: inout RoutedMessage) -> LoopLayer? {
        if layers.identity, identities.isMe(message.message) { return .identity }
        // A replayed message arrived before the writes that are expected now.
        if layers.echo, !writes.isIdle, message.bypass != .all, let (object, event) = ownEvent(message),
            writes.take(object, event, now: message.admittedAt)
        {
            return .echo
        }
        if layers.lineage, message.message.storage.stamp.isPresent,
            let hops = message.message.lineage?.hops, hops > settings.hops
        {
            return .lineage
        }
        return nil
    }

    /// What may be the event of an own write.
    private func ownEvent(_ message: RoutedMessage) -> (ResourceKey, OwnWrites.Event)? {
        guard message.isOfApp, let object = ResourceKey(objectOf: message.message, secret) else { return nil }
        let event = OwnWrites.Event(
            change: ObjectChange(eventOf: message.message.storage), modifiedAt: message.message.modifiedAt,
            arrivedAt: message.arrivedAt, author: identities.author(of: message.message))
        return (object, event)
    }

    /// Whether this device caused a message by a write that its handlers have declared, or that names it.
    private func isOwn(_ message: RoutedMessage) -> Bool {
        if layers.identity, identities.isMe(message.message) { return true }
        guard layers.echo, !writes.isIdle, let (object, event) = ownEvent(message) else { return false }
        return writes.expects(object, event)
    }

    /// Drops a message that is killed as a whole, and stops the routes that are killed.
    mutating func stopKilled(_ message: inout RoutedMessage) -> Bool {
        guard layers.killSwitch, !killSwitch.isIdle(at: message.admittedAt) else { return false }
        let (isWhole, killed) = killSwitch.stops(message, message.routes, at: message.admittedAt)
        if isWhole { return true }
        for route in killed {
            message.stopRoutes(.looped(.killSwitch)) { $0 === route }
            if message.heard != .no { paces.leaveStopped(message, route) }
        }
        if message.routes.isEmpty { message.heard = .no }
        return false
    }

    // MARK: What lets it wait

    /// Lets a message pass that has just come and need not wait; what most messages outside of a service need.
    mutating func passesAtOnce(_ message: inout RoutedMessage) -> Bool {
        guard message.heard == .no, layers.pace, killSwitch.isIdle(at: message.admittedAt),
            case .none = message.bypass, paces.passAtOnce(message)
        else { return false }
        message.isCounted = true
        return true
    }

    /// Asks whether a message that was heard may be handled now.
    mutating func pace(_ message: inout RoutedMessage) -> Verdict {
        guard layers.pace, message.heard != .no else { return .pass }
        if case .superseded = message.bypass {
            leave(&message, isSuperseded: true)
            return .pass
        }
        let (verdict, isFromFloor) = paces.ask(&message)
        if case .later = verdict { return verdict }
        (message.heard, message.isCounted) = (.no, isFromFloor)
        return verdict
    }

    /// Records that a message no longer waits, if it was heard; a `superseded` one is counted.
    mutating func leave(_ message: inout RoutedMessage, isSuperseded: Bool = false) {
        if message.heard != .no { paces.leave(message, isSuperseded: isSuperseded) }
        message.heard = .no
    }

    /// Hears a message, unless that was done before or it is replayed; one that this device caused is no traffic.
    mutating func hear(_ message: inout RoutedMessage, isInLane: Bool, isAgain: Bool = false) {
        if case .all = message.bypass { return }
        guard layers.pace, message.heard == .no, !message.routes.isEmpty else { return }
        // Outside of a lane, the layers before this one have just found that it is not.
        let isOwn = isInLane && isOwn(message)
        paces.hear(&message, isInLane: isInLane, isAgain: isAgain || isOwn)
    }
}

extension MonotonicInstant {
    /// Seconds since the clock's beginning.
    var seconds: Double { Double(nanoseconds) / 1e9 }

    /// The instant after a number of seconds: a microsecond later, so that rounding makes it never earlier.
    init(seconds: Double) { self.init(nanoseconds: Int64(min(seconds * 1e6 + 1, 9e15).rounded(.up)) * 1000) }
}
