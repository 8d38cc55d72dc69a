/// The paces of all keys of a guard: of each object, sender or conversation, and of all new ones together.
///
/// A message has one of each, with the limits of its slowest route; so it passes for all of its routes, or waits.
struct Paces {
    /// How many keys are known at once; beyond that, one that nothing waits for is forgotten early.
    static let mostKeys = 16_384
    /// How many routes are.
    static let mostRoutes = 4096

    private var own = PaceTable(capacity: mostKeys)
    private var new = PaceTable(capacity: mostRoutes)
    /// What the wall clock is ahead of the guard's clock, modulo a day, and when that was read: keys pause at times of
    /// day that all devices have in common.
    private var (offset, alignedAt) = (0.0, -Double.infinity)

    /// Reads the wall clock, unless it was read within a second: it may be set at any time.
    mutating func align(_ now: MonotonicInstant, _ wall: () -> Int64?) {
        guard now.seconds - alignedAt >= Pace.joined, let wall = wall() else { return }
        alignedAt = now.seconds
        offset = (Double(wall) / 1000 - now.seconds).truncatingRemainder(dividingBy: 86_400)
    }

    // MARK: Hearing

    /// Records the arrival of a message; it waits until it passes, or ``leave(_:isSuperseded:)`` is called for it.
    ///
    /// In a lane of a service it is heard once. Outside of one, it comes again while it waits, and then counts already.
    /// A message that a service has accepted before comes again, too, and is no new traffic.
    mutating func hear(_ message: inout RoutedMessage, isInLane: Bool, isAgain: Bool) {
        guard let (key, route) = message.paceKey else { return }
        let (received, now) = (message.message.storage.received, message.time)
        let comesAgain = received.isRedelivered || now - message.arrivedAt.seconds >= Pace.joined
        let isNew = !isAgain && !comesAgain && !received.hasWaited
        let counts = isInLane || !comesAgain
        var isPlain = true
        if let index = own.index(of: key, now) {
            if counts { own[index].hear(now, isNew: isNew, isAgain: isAgain, key.limits) }
            isPlain = own[index].isPlain
        }
        message.heard = isPlain ? .asNew : .asKnown
        if isPlain, counts { hear(asNew: route.newKeys, now, isNew: isNew, isAgain: isAgain) }
    }

    private mutating func hear(asNew key: PaceKey, _ now: Double, isNew: Bool, isAgain: Bool = false) {
        if let index = new.index(of: key, now) { new[index].hear(now, isNew: isNew, isAgain: isAgain, key.limits) }
    }

    /// Records that a message no longer waits, if it was heard; one that has not passed may be `superseded`.
    mutating func leave(_ message: inout RoutedMessage, isSuperseded: Bool = false) {
        guard message.heard != .no, let (key, route) = message.paceKey else { return }
        if let index = own.find(key) {
            own[index].leave()
            if isSuperseded { own.supersede(index) }
        }
        leaveNew(&message, route.newKeys)
        message.heard = .no
    }

    /// Records that a message is not one of a new key: that has a pace, or will have one.
    private mutating func leaveNew(_ message: inout RoutedMessage, _ key: PaceKey) {
        if message.heard == .asNew, let index = new.find(key) { new[index].leave() }
        message.heard = .asKnown
    }

    // MARK: Asking

    /// Lets a message pass that has just come, if its floors are ready: what most messages need.
    mutating func passAtOnce(_ message: inout RoutedMessage) -> Bool {
        let now = message.time
        guard let (key, route) = message.paceKey, let own = own.index(of: key, now),
            let new = self.new.index(of: route.newKeys, now), self.own[own].isReady(now, key.limits),
            self.new[new].isReady(now, route.newKeys.limits)
        else { return false }
        self.own[own].pass()
        self.new[new].pass()
        message.isCounted = true
        return true
    }

    /// Decides about a message that was heard.
    mutating func ask(_ message: inout RoutedMessage) -> Verdict {
        let now = message.time
        guard let (key, route) = message.paceKey else { return .pass }
        guard let index = own.index(of: key, now) else { return askNew(&message, route.newKeys) }
        if own.hasNewer(message.message, index), takesNewest(message) {
            leave(&message, isSuperseded: true)
            return .drop(.superseded)
        }
        let before = own[index]
        switch own[index].ask(now, key.limits, offset) {
        case .later(let until):
            own.record(index, message)
            leaveNew(&message, route.newKeys)
            return .later(until: MonotonicInstant(seconds: until))
        case .now(.floor):
            let verdict = askNew(&message, route.newKeys)
            if case .later = verdict { own[index] = before }
            return verdict
        case .now:
            leaveNew(&message, route.newKeys)
            message.heard = .no
            return .pass
        }
    }

    /// Decides about a message that only the pace of new keys limits now.
    private mutating func askNew(_ message: inout RoutedMessage, _ key: PaceKey) -> Verdict {
        let now = message.time
        if message.heard != .asNew { hear(asNew: key, now, isNew: false) }
        guard let index = new.index(of: key, now), case .later(let until) = new[index].ask(now, key.limits, offset)
        else {
            (message.heard, message.isCounted) = (.no, true)
            return .pass
        }
        new.record(index, message)
        if message.heard != .asNew { new[index].leave() }
        return .later(until: MonotonicInstant(seconds: until))
    }

    /// Returns the tokens of a message that passed from the floors and was not handled.
    mutating func giveBack(_ message: RoutedMessage) {
        guard let (key, route) = message.paceKey else { return }
        if let index = own.find(key) { own[index].giveBack(key.limits) }
        if let index = new.find(route.newKeys) { new[index].giveBack(route.newKeys.limits) }
    }

    // MARK: Newest wins

    /// Whether the newest change of a message's object should take the place of older ones that wait: not all of them
    /// may pass, and no route is unlimited.
    mutating func takesNewest(_ message: RoutedMessage) -> Bool {
        guard let key = message.paceKey?.key, key.level == .object, !message.routes.contains(where: \.isUnlimited),
            let index = own.find(key)
        else { return false }
        return own[index].hasFailed(message.time, key.limits)
    }

    // MARK: Reports

    /// The keys whose messages wait now.
    func paced(_ now: Double) -> [PacedKey] { own.paced(now) + new.paced(now) }

    /// Takes the keys that have just begun to let messages wait.
    mutating func takeNews() -> [PacedKey] {
        own.hasNews || new.hasNews ? own.takeNews() + new.takeNews() : []
    }
}
