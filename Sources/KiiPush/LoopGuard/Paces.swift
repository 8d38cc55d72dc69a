/// The paces of all keys of a guard: of each object, sender or conversation, and of all new ones together.
struct Paces {
    /// How many keys are known at once; beyond that, one that nothing waits for is forgotten early.
    static let mostKeys = 16_384
    /// How many routes are.
    static let mostRoutes = 4096

    private var own = PaceTable(capacity: mostKeys)
    private var shared = PaceTable(capacity: mostRoutes, isShared: true)
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
    /// In a lane of a service it is heard once; else its transport may deliver it again. A message that a service has
    /// accepted before, or that this device caused, comes again and is no new traffic.
    mutating func hear(_ message: inout RoutedMessage, isInLane: Bool, isAgain: Bool) {
        let (push, now) = (message.message, message.time)
        let received = push.storage.received
        let hasWaited = now - message.arrivedAt.seconds >= Pace.joined
        let isNew = !isAgain && !hasWaited && !received.isRedelivered && !received.hasWaited
        let isSecond = hasWaited || received.isRedelivered
        var (isPlain, hasTold) = (true, false)
        own.each(message, makingAt: now) { table, index, key, _ in
            let waitsAlready = !isInLane && (isSecond || table.compares(push, index, <=))
            // One that others have overtaken on its way is new traffic, and may be counted among those that wait.
            if !waitsAlready || isNew && table.compares(push, index, <) {
                table[index].hear(now, isNew: isNew, waits: !waitsAlready, key.limits)
            }
            (isPlain, hasTold) = (isPlain && table[index].isPlain, hasTold || waitsAlready)
        }
        message.heard = isPlain ? .asNew : .asKnown
        if isPlain, !hasTold { hearShared(message, isNew: isNew) }
    }

    private mutating func hearShared(_ message: RoutedMessage, isNew: Bool) {
        let now = message.time
        shared.each(message, makingAt: now) { table, index, key, _ in
            table[index].hear(now, isNew: isNew, key.limits)
        }
    }

    /// Records that a message no longer waits, if it was heard; one that has not passed may be `superseded`.
    mutating func leave(_ message: inout RoutedMessage, isSuperseded: Bool = false) {
        guard message.heard != .no else { return }
        own.each(message) { table, index, _, _ in
            table[index].leave()
            if isSuperseded { table.supersede(index) }
        }
        leaveShared(message)
        message.heard = .no
    }

    private mutating func leaveShared(_ message: RoutedMessage) {
        if message.heard == .asNew { shared.each(message) { table, index, _, _ in table[index].leave() } }
    }

    // MARK: Asking

    /// Lets a message pass that has just come, if it has one route and its floors are ready: what most messages need.
    mutating func passAtOnce(_ message: inout RoutedMessage) -> Bool {
        guard message.routes.count == 1, let route = message.routes.first, !route.isUnlimited else { return false }
        let now = message.time
        let key = PaceKey(message.message, at: message.place, for: route)
        guard let own = own.index(of: key, now), let shared = self.shared.index(of: route.newKeys, now),
            self.own[own].isReady(now, key.limits), self.shared[shared].isReady(now, route.newKeys.limits)
        else { return false }
        self.own[own].pass()
        self.shared[shared].pass()
        message.isCounted = true
        return true
    }

    /// Decides about a message that was heard; if it may not pass for one of its routes, it waits for all of them.
    mutating func ask(_ message: inout RoutedMessage) -> Verdict {
        if isReplaced(message) {
            leave(&message, isSuperseded: true)
            return .drop(.superseded)
        }
        let answers = own.ask(message, offset)
        var until = answers.until
        if until == nil, answers.source == .floor {
            until = askShared(message)
        } else {
            // It is not of a new key: that has a pace, or will have one.
            leaveShared(message)
            message.heard = .asKnown
        }
        if let until {
            own.undo(answers)
            return .later(until: MonotonicInstant(seconds: until))
        }
        (message.heard, message.isCounted) = (.no, answers.source == .floor)
        return .pass
    }

    /// Asks the paces of new keys; returns when it may ask again, or nil if it passes.
    private mutating func askShared(_ message: RoutedMessage) -> Double? {
        if message.heard != .asNew { hearShared(message, isNew: false) }
        let answers = shared.ask(message, offset)
        guard let until = answers.until else { return nil }
        shared.undo(answers)
        if message.heard != .asNew { shared.each(message) { table, index, _, _ in table[index].leave() } }
        return until
    }

    /// Returns the tokens of a message that passed from the floors and was not handled.
    mutating func giveBack(_ message: RoutedMessage) {
        own.each(message) { table, index, key, _ in table[index].giveBack(key.limits) }
        shared.each(message) { table, index, key, _ in table[index].giveBack(key.limits) }
    }

    // MARK: Newest wins

    /// Whether the newest change of a message's object should take the place of older ones that wait.
    mutating func takesNewest(_ message: RoutedMessage) -> Bool { hasFailed(message) { _, _ in true } }

    /// Whether a newer change that waits takes a message's place, for all of its routes.
    private mutating func isReplaced(_ message: RoutedMessage) -> Bool {
        !own.hasNoRecords && hasFailed(message) { $0.compares(message.message, $1, <) }
    }

    /// Whether, for all routes of a message, not all of an object's changes that wait may pass, and a condition holds.
    private mutating func hasFailed(_ message: RoutedMessage, _ condition: (PaceTable, UInt32) -> Bool) -> Bool {
        var failed = 0
        own.each(message) { table, index, key, _ in
            let isObject = key.level == .object
            if isObject, table[index].hasFailed(message.time, key.limits), condition(table, index) { failed += 1 }
        }
        return failed > 0 && failed == message.routes.count
    }

    // MARK: Reports

    /// The keys whose messages wait now.
    func paced(_ now: Double) -> [PacedKey] { own.paced(now) + shared.paced(now) }

    /// Takes the keys that have just begun to let messages wait.
    mutating func takeNews() -> [PacedKey] {
        own.hasNews || shared.hasNews ? own.takeNews() + shared.takeNews() : []
    }
}
