/// The state of a loop guard: a state machine without a clock of its own.
struct LoopState {
    var identities: Identities
    var settings: LoopSettings
    var killSwitch = KillSwitch()
    var writes = OwnWrites()
    var stamps = FoundStamps()
    var paces = Paces()
    var budgets = WriteBudgets()

    private static let layers = LoopLayer.allCases.count

    /// Whether a layer is on; usually all are, and a set would cost five hashes for each message.
    func isOn(_ layer: LoopLayer) -> Bool { settings.layers.count == Self.layers || settings.layers.contains(layer) }

    /// Judges a message: it ends, waits, or passes.
    mutating func judge(_ message: inout RoutedMessage, _ wall: () -> Int64?) -> Verdict {
        if let layer = layerThatEnds(&message) { return .drop(.looped(layer)) }
        if isOn(.pace), message.heard == .no, message.bypass == .none, killSwitch.isIdle(at: message.admittedAt),
            paces.passAtOnce(&message)
        {
            return .pass
        }
        paces.align(message.admittedAt, wall)
        hear(&message, isInLane: false)
        if stopKilled(&message) { return .drop(.looped(.killSwitch)) }
        guard isOn(.pace), message.heard != .no else { return .pass }
        if message.bypass == .superseded {
            paces.leave(&message, isSuperseded: true)
            return .pass
        }
        return paces.ask(&message)
    }

    /// Hears a message, unless that was done before or it is replayed.
    mutating func hear(_ message: inout RoutedMessage, isInLane: Bool, isAgain: Bool = false) {
        guard isOn(.pace), message.bypass != .all, message.heard == .no else { return }
        paces.hear(&message, isInLane: isInLane, isAgain: isAgain)
    }

    // MARK: What ends a message

    /// The layer that drops a message, but for the kill switch.
    // It does not change the message; `inout` avoids a copy.
    private mutating func layerThatEnds(_ message: inout RoutedMessage) -> LoopLayer? {
        if isOn(.identity), identities.isMe(message.message) { return .identity }
        // A replayed message arrived before the writes that are expected now.
        if isOn(.echo), !writes.isIdle, message.bypass != .all, isEcho(message) { return .echo }
        if isOn(.lineage), message.message.storage.stamp.isPresent,
            let hops = message.message.lineage?.hops, hops > settings.hops
        {
            return .lineage
        }
        return nil
    }

    /// Stops the routes that are switched off; returns whether that drops the whole message.
    private mutating func stopKilled(_ message: inout RoutedMessage) -> Bool {
        guard isOn(.killSwitch), !killSwitch.isIdle(at: message.admittedAt) else { return false }
        let (isWhole, killed) = killSwitch.stops(message, message.routes, at: message.admittedAt)
        if isWhole || killed.isEmpty { return isWhole }
        // It waits on for the others alone.
        paces.leave(&message)
        message.stopRoutes(.looped(.killSwitch)) { route in killed.contains { $0 === route } }
        hear(&message, isInLane: true, isAgain: true)
        return false
    }

    /// Whether a message is the event of an own write, which no longer waits for it then.
    private mutating func isEcho(_ message: RoutedMessage) -> Bool {
        guard message.isOfApp, let object = ResourceKey(objectOf: message.message, .ofProcess) else { return false }
        let event = OwnWrites.Event(
            change: ObjectChange(eventOf: message.message.storage), modifiedAt: message.message.modifiedAt,
            arrivedAt: message.arrivedAt, author: identities.author(of: message.message))
        return writes.take(object, event)
    }
}

extension MonotonicInstant {
    /// Seconds since the clock's beginning.
    var seconds: Double { Double(nanoseconds) / 1e9 }

    /// The instant after a number of seconds: a microsecond later, so that rounding makes it never earlier.
    init(seconds: Double) { self.init(nanoseconds: Int64(min(seconds * 1e6 + 1, 9e15).rounded(.up)) * 1000) }
}
