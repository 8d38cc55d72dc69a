/// The paces of all keys of a guard: of each object, sender or conversation, and of all new ones together.
struct Paces {
    /// How many keys are known at once; beyond that, one that nothing waits for is forgotten early.
    static let mostKeys = 16_384
    /// How many routes are.
    static let mostRoutes = 4096

    private let secret = DedupeSecret.ofProcess
    private var own = PaceTable(capacity: mostKeys)
    private var shared = PaceTable(capacity: mostRoutes)
    /// What the wall clock is ahead of the guard's clock, modulo a day, and when that was read: keys pause at times of
    /// day that all devices have in common.
    private var (offset, alignedAt) = (0.0, -Double.infinity)

    /// Reads the wall clock, unless it was read within a second: it may be set at any time.
    mutating func align(_ now: MonotonicInstant, _ wall: () -> Int64?) {
        guard now.seconds - alignedAt >= Pace.joined, let wall = wall() else { return }
        alignedAt = now.seconds
        offset = (Double(wall) / 1000 - now.seconds).truncatingRemainder(dividingBy: 86_400)
    }

    private func time(of message: RoutedMessage) -> Double { message.admittedAt.seconds }

    // MARK: Hearing

    /// Records the arrival of a message; it waits until it passes, or ``leave(_:isSuperseded:)`` is called for it.
    ///
    /// In a lane of a service it is heard once; else its transport may deliver it again. A message that a service has
    /// accepted before, or that this device caused, comes again and is no new traffic.
    mutating func hear(_ message: inout RoutedMessage, isInLane: Bool, isAgain: Bool) {
        let now = time(of: message)
        let hasWaited = now - message.arrivedAt.seconds >= Pace.joined
        let isNew = !isAgain && message.message.storage.isNewArrival && !hasWaited
        let isSecond = hasWaited || message.message.storage.received.isRedelivered
        var (isPlain, hasTold) = (true, false)
        for route in message.routes where !route.isUnlimited {
            let key = PaceKey(message.message, at: message.place, for: route, secret)
            guard let index = own.index(of: key.own, key.limits, now) else { continue }
            let waitsAlready = !isInLane && (isSecond || own.compares(message.message, index, <=))
            // One that others have overtaken on its way is new traffic, and may be counted among those that wait.
            if !waitsAlready || isNew && own.compares(message.message, index, <) {
                own[index].hear(now, isNew: isNew, waits: !waitsAlready, key.limits)
            }
            (isPlain, hasTold) = (isPlain && own[index].isPlain, hasTold || waitsAlready)
        }
        message.heard = isPlain ? .asNew : .asKnown
        if isPlain, !hasTold { hearShared(message, now, isNew: isNew) }
    }

    private mutating func hearShared(_ message: RoutedMessage, _ now: Double, isNew: Bool) {
        eachShared(message, now) { table, index, route in table[index].hear(now, isNew: isNew, route.newKeys) }
    }

    /// Records that a message no longer waits, although it has not passed; a `superseded` one is counted.
    mutating func leave(_ message: RoutedMessage, isSuperseded: Bool = false) {
        for route in message.routes { leave(message, route, isSuperseded: isSuperseded) }
        leaveShared(message)
    }

    private mutating func leave(_ message: RoutedMessage, _ route: Route, isSuperseded: Bool = false) {
        guard !route.isUnlimited else { return }
        let key = PaceKey(message.message, at: message.place, for: route, secret)
        guard let index = own.find(key.own) else { return }
        own[index].leave()
        if isSuperseded { own.supersede(index) }
    }

    /// Records that a route that was stopped does not get a message that waits.
    mutating func leaveStopped(_ message: RoutedMessage, _ route: Route) {
        leave(message, route)
        if message.heard == .asNew, !message.routes.contains(where: { $0.sharedKey == route.sharedKey }),
            let index = shared.find(route.sharedKey)
        {
            shared[index].leave()
        }
    }

    private mutating func leaveShared(_ message: RoutedMessage) {
        guard message.heard == .asNew else { return }
        eachShared(message, time(of: message)) { table, index, _ in table[index].leave() }
    }

    /// Calls `body` with each pace that a message's new keys share, and with its first route of that.
    private mutating func eachShared(
        _ message: RoutedMessage, _ now: Double, _ body: (inout PaceTable, UInt32, Route) -> Void
    ) {
        var isOfDevice = false
        for route in message.routes where !route.isUnlimited {
            if route.sharedKey == .device {
                if isOfDevice { continue }
                isOfDevice = true
            }
            if let index = shared.index(of: route.sharedKey, route.newKeys, now) { body(&shared, index, route) }
        }
    }

    // MARK: Asking

    /// Lets a message pass that has just come, if it has one route and its floors are ready: what most messages need.
    mutating func passAtOnce(_ message: RoutedMessage) -> Bool {
        guard message.routes.count == 1, let route = message.routes.first, !route.isUnlimited else { return false }
        let now = time(of: message)
        let key = PaceKey(message.message, at: message.place, for: route, secret)
        guard let own = own.index(of: key.own, key.limits, now),
            let shared = self.shared.index(of: route.sharedKey, route.newKeys, now),
            self.own[own].isReady(now, key.limits), self.shared[shared].isReady(now, route.newKeys)
        else { return false }
        self.own[own].pass()
        self.shared[shared].pass()
        return true
    }

    /// Decides about a message that was heard, and whether it passes from the floors of its keys; if it may not pass
    /// for one of its routes, it waits for all of them.
    mutating func ask(_ message: inout RoutedMessage) -> (Verdict, isFromFloor: Bool) {
        if isReplaced(message) {
            leave(message, isSuperseded: true)
            return (.drop(.superseded), false)
        }
        let now = time(of: message)
        var answers = PaceAnswers()
        for route in message.routes where !route.isUnlimited {
            let key = PaceKey(message.message, at: message.place, for: route, secret)
            guard let index = own.index(of: key.own, key.limits, now) else { continue }
            // The other routes are asked, too: each would listen alone, one after another.
            if answers.waits(index, &own, now, key.limits, offset) {
                own.record(index, key.isObject ? .object : .letters, message.message, route, now)
            }
        }
        if answers.until == nil, answers.source == .floor {
            answers.until = askShared(message, now)
        } else {
            // It is not of a new key: that has a pace, or will have one.
            leaveShared(message)
            message.heard = .asKnown
        }
        guard let until = answers.until else { return (.pass, answers.source == .floor) }
        answers.undo(&own)
        return (.later(until: MonotonicInstant(seconds: until)), false)
    }

    /// Asks the paces of new keys; returns when it may ask again, or nil if it passes.
    private mutating func askShared(_ message: RoutedMessage, _ now: Double) -> Double? {
        if message.heard != .asNew { hearShared(message, now, isNew: false) }
        var answers = PaceAnswers()
        let offset = offset
        eachShared(message, now) { table, index, route in
            if answers.waits(index, &table, now, route.newKeys, offset) {
                table.record(index, route.sharedKey == .device ? .device : .route, message.message, route, now)
            }
        }
        guard let until = answers.until else { return nil }
        answers.undo(&shared)
        if message.heard != .asNew { eachShared(message, now) { table, index, _ in table[index].leave() } }
        return until
    }

    /// Returns the tokens of a message that passed from the floors and was not handled.
    mutating func giveBack(_ message: RoutedMessage) {
        for route in message.routes where !route.isUnlimited {
            let key = PaceKey(message.message, at: message.place, for: route, secret)
            if let index = own.find(key.own) { own[index].giveBack(key.limits) }
        }
        eachShared(message, time(of: message)) { table, index, route in table[index].giveBack(route.newKeys) }
    }

    // MARK: Newest wins

    /// Whether the newest change of a message's object should take the place of older ones that wait.
    mutating func takesNewest(_ message: RoutedMessage) -> Bool {
        !message.routes.isEmpty && message.routes.allSatisfy { hasFailed($0, message) != nil }
    }

    /// The index of a route's pace by which not all of an object's changes that wait may pass; nil if they may.
    private mutating func hasFailed(_ route: Route, _ message: RoutedMessage) -> UInt32? {
        guard !route.isUnlimited else { return nil }
        let key = PaceKey(message.message, at: message.place, for: route, secret)
        guard key.isObject, let index = own.find(key.own), own[index].hasFailed(time(of: message), key.limits) else {
            return nil
        }
        return index
    }

    /// Whether a newer change that waits takes a message's place, for all of its routes.
    private mutating func isReplaced(_ message: RoutedMessage) -> Bool {
        if own.hasNoRecords { return false }
        return message.routes.allSatisfy { route in
            hasFailed(route, message).map { own.compares(message.message, $0, <) } ?? false
        }
    }

    // MARK: Reports

    /// The keys whose messages wait now.
    func paced(_ now: Double) -> [PacedKey] { own.paced(now) + shared.paced(now) }

    var hasNews: Bool { own.hasNews || shared.hasNews }

    /// Takes the keys that have just begun to let messages wait.
    mutating func takeNews() -> [PacedKey] { own.takeNews() + shared.takeNews() }
}

/// What the paces of one table have answered to a message: it passes all of them, or none.
private struct PaceAnswers {
    /// What let it pass; if they differ, the first of the sources.
    var source = Pace.Source.rate
    /// When it may ask again; nil if all that were asked let it pass.
    var until: Double?
    /// Those that let it pass, as they were before.
    private var passed: [(key: ResourceKey, before: Pace)] = []

    /// Asks a pace; returns whether the message has to wait for it.
    mutating func waits(
        _ index: UInt32, _ table: inout PaceTable, _ now: Double, _ limits: Pace.Limits, _ offset: Double
    ) -> Bool {
        let before = table[index]
        switch table[index].ask(now, limits, offset) {
        case .now(let source):
            self.source = min(self.source, source)
            passed.append((table.key(at: index), before))
            return false
        case .later(let time):
            until = max(until ?? time, time)
            return true
        }
    }

    /// Takes back that the message passed.
    func undo(_ table: inout PaceTable) {
        for (key, before) in passed {
            // In a full table, the key of a later route may have taken its place.
            if let index = table.find(key) { table[index] = before }
        }
    }
}

extension MessageStorage {
    /// Whether it was sent just before it arrived, as far as its transport knows.
    fileprivate var isNewArrival: Bool { !received.isRedelivered && !received.hasWaited }
}
