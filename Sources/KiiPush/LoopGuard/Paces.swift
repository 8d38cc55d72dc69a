/// The paces of all keys of a guard: of each object, sender or conversation, of each route, and of the device.
struct Paces {
    /// How many keys are known at once; beyond that, one that nothing waits for is forgotten early.
    static let mostKeys = 16_384
    /// How many routes are.
    static let mostRoutes = 4096

    private let secret = DedupeSecret.ofProcess
    private var own = PaceTable(capacity: mostKeys)
    private var wide = PaceTable(capacity: mostRoutes)
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
        var (isPlain, waitsAlready) = (true, false)
        for route in message.routes where !route.isUnlimited {
            let key = PaceKey(message.message, at: message.place, for: route, secret)
            guard let place = own.place(of: key.own, key.limits, now) else { continue }
            waitsAlready = !isInLane && (hasWaited || own.compares(message.message, place, <=))
            // One that others have overtaken on its way is new traffic, and may be counted among those that wait.
            if !waitsAlready || isNew && own.compares(message.message, place, <) {
                own[place].hear(now, isNew: isNew, waits: !waitsAlready, key.limits)
            }
            isPlain = isPlain && own[place].isPlain
        }
        message.heard = isPlain ? .asNew : .asKnown
        if isPlain, !waitsAlready { hearWide(message, now, isNew: isNew) }
    }

    private mutating func hearWide(_ message: RoutedMessage, _ now: Double, isNew: Bool) {
        eachWide(message, now) { pace, limits in pace.hear(now, isNew: isNew, limits) }
    }

    /// Records that a message no longer waits, although it has not passed; a `superseded` one is counted.
    mutating func leave(_ message: RoutedMessage, isSuperseded: Bool = false) {
        for route in message.routes { leave(message, route, isSuperseded: isSuperseded) }
        leaveWide(message)
    }

    private mutating func leave(_ message: RoutedMessage, _ route: Route, isSuperseded: Bool = false) {
        guard !route.isUnlimited else { return }
        let key = PaceKey(message.message, at: message.place, for: route, secret)
        guard let place = own.find(key.own) else { return }
        own[place].leave()
        if isSuperseded { own.supersede(place) }
    }

    /// Records that a route whose messages are stopped does not get one that waits.
    mutating func leaveStopped(_ message: RoutedMessage, _ route: Route) {
        leave(message, route)
        if message.heard == .asNew, let place = wide.find(ResourceKey(route)) { wide[place].leave() }
    }

    private mutating func leaveWide(_ message: RoutedMessage) {
        if message.heard == .asNew { eachWide(message, time(of: message)) { pace, _ in pace.leave() } }
    }

    /// Calls `body` with the pace of each route, and then with the device's, which counts routes with the standard
    /// pace.
    private mutating func eachWide(_ message: RoutedMessage, _ now: Double, _ body: (inout Pace, Pace.Limits) -> Void) {
        for route in message.routes where !route.isUnlimited {
            if let place = wide.place(of: ResourceKey(route), route.newKeys, now) { body(&wide[place], route.newKeys) }
        }
        guard message.routes.contains(where: { $0.options.pace == .standard }) else { return }
        if let place = wide.place(of: .device, .device, now) { body(&wide[place], .device) }
    }

    // MARK: Asking

    /// Lets a message pass that has just come, if it has one route and its floors are ready: what most messages need.
    mutating func passAtOnce(_ message: RoutedMessage) -> Bool {
        guard message.routes.count == 1, let route = message.routes.first, !route.isUnlimited else { return false }
        let now = time(of: message)
        let key = PaceKey(message.message, at: message.place, for: route, secret)
        guard let own = own.place(of: key.own, key.limits, now),
            let wide = self.wide.place(of: ResourceKey(route), route.newKeys, now),
            let device = self.wide.place(of: .device, .device, now),
            self.own[own].isReady(now, key.limits), self.wide[wide].isReady(now, route.newKeys),
            route.options.pace != .standard || self.wide[device].isReady(now, .device)
        else { return false }
        self.own[own].pass()
        self.wide[wide].pass()
        if route.options.pace == .standard { self.wide[device].pass() }
        return true
    }

    /// Decides about a message that was heard, and whether it passes from the floors of its keys; if it may not pass
    /// for one of its routes, it waits for all of them.
    mutating func ask(_ message: RoutedMessage) -> (Verdict, isFromFloor: Bool) {
        if isReplaced(message) {
            leave(message, isSuperseded: true)
            return (.drop(.superseded), false)
        }
        let now = time(of: message)
        var round = Round()
        for route in message.routes where !route.isUnlimited {
            let key = PaceKey(message.message, at: message.place, for: route, secret)
            guard let place = own.place(of: key.own, key.limits, now) else { continue }
            // The other routes are asked, too: each would listen alone, one after another.
            if round.waits(place, &own, now, key.limits, offset) {
                own.record(place, key.isObject ? .object : .letters, message.message, route, now)
            }
        }
        if round.until == nil {
            if round.source == .floor { round.until = askWide(message, now) } else { leaveWide(message) }
        }
        guard let until = round.until else { return (.pass, round.source == .floor) }
        round.undo(&own)
        return (.later(until: MonotonicInstant(seconds: until)), false)
    }

    /// Asks the paces of new keys; returns when it may ask again, or nil if it passes.
    private mutating func askWide(_ message: RoutedMessage, _ now: Double) -> Double? {
        if message.heard != .asNew { hearWide(message, now, isNew: false) }
        var round = Round()
        for route in message.routes where !route.isUnlimited {
            guard let place = wide.place(of: ResourceKey(route), route.newKeys, now) else { continue }
            if round.waits(place, &wide, now, route.newKeys, offset) {
                wide.record(place, .route, message.message, route, now)
            }
        }
        if round.until == nil, let standard = message.routes.first(where: { $0.options.pace == .standard }),
            let place = wide.place(of: .device, .device, now)
        {
            // What a route's rate lets pass comes by itself: the device need not listen to it, too.
            if round.source >= .rate {
                if message.heard == .asNew { wide[place].leave() }
            } else if round.waits(place, &wide, now, .device, offset) {
                wide.record(place, .device, message.message, standard, now)
            }
        }
        guard let until = round.until else { return nil }
        round.undo(&wide)
        if message.heard != .asNew { eachWide(message, now) { pace, _ in pace.leave() } }
        return until
    }

    /// Returns the tokens of a message that passed from the floors and was not handled.
    mutating func giveBack(_ message: RoutedMessage) {
        for route in message.routes where !route.isUnlimited {
            let key = PaceKey(message.message, at: message.place, for: route, secret)
            if let place = own.find(key.own) { own[place].giveBack(key.limits) }
        }
        eachWide(message, time(of: message)) { pace, limits in pace.giveBack(limits) }
    }

    // MARK: Newest wins

    /// Whether the newest change of a message's object should take the place of older ones that wait.
    mutating func takesNewest(_ message: RoutedMessage) -> Bool {
        !message.routes.isEmpty && message.routes.allSatisfy { hasFailed($0, message) != nil }
    }

    /// The place of a route's pace by which not all of an object's changes that wait may pass; nil if they may.
    private mutating func hasFailed(_ route: Route, _ message: RoutedMessage) -> UInt32? {
        guard !route.isUnlimited else { return nil }
        let key = PaceKey(message.message, at: message.place, for: route, secret)
        guard key.isObject, let place = own.find(key.own), own[place].hasFailed(time(of: message), key.limits) else {
            return nil
        }
        return place
    }

    /// Whether a newer change that waits takes a message's place, for all of its routes.
    private mutating func isReplaced(_ message: RoutedMessage) -> Bool {
        if own.hasNoRecords { return false }
        return message.routes.allSatisfy { route in
            hasFailed(route, message).map { own.compares(message.message, $0, <) } ?? false
        }
    }

    // MARK: Reports

    /// The keys whose messages wait now, those that wait longest first.
    func paced(_ now: Double) -> [PacedKey] { (own.paced(now) + wide.paced(now)).sorted { $0.since < $1.since } }

    var hasNews: Bool { own.hasNews || wide.hasNews }

    /// Takes the keys that have just begun to let messages wait.
    mutating func takeNews() -> [PacedKey] { own.takeNews() + wide.takeNews() }
}

/// What the paces of one table have answered to a message: it passes all of them, or none.
private struct Round {
    /// What let it pass; if they differ, the first of the sources.
    var source = Pace.Source.rate
    /// When it may ask again; nil if all that were asked let it pass.
    var until: Double?
    /// Those that let it pass, as they were before.
    private var passed: [(place: UInt32, before: Pace)] = []

    /// Asks a pace; returns whether the message has to wait for it.
    mutating func waits(
        _ place: UInt32, _ table: inout PaceTable, _ now: Double, _ limits: Pace.Limits, _ offset: Double
    ) -> Bool {
        let before = table[place]
        switch table[place].ask(now, limits, offset) {
        case .now(let source):
            self.source = min(self.source, source)
            passed.append((place, before))
            return false
        case .later(let time):
            until = max(until ?? time, time)
            return true
        }
    }

    /// Takes back that the message passed.
    func undo(_ table: inout PaceTable) { for (place, before) in passed { table[place] = before } }
}

extension MessageStorage {
    /// Whether it was sent just before it arrived, as far as its transport knows.
    fileprivate var isNewArrival: Bool { !received.isRedelivered && !received.hasWaited }
}
