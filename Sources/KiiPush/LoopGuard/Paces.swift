/// The paces of all keys of a guard: of each object, sender or conversation, of each route, and of the device.
struct Paces {
    /// How many keys are known at once; beyond that, one that nothing waits for is forgotten early.
    static let mostKeys = 16_384
    /// How many routes are.
    static let mostRoutes = 4096
    /// How many seconds lie between two reports of a key.
    static let reportPause = 60.0

    /// How many seconds after its arrival a message is no new one: what handlers of others take.
    private static let late = 0.9

    /// The decision about a message.
    enum Answer: Equatable {
        /// It passes; from the floors of its keys, or beyond them.
        case pass(isFromFloor: Bool)
        case later(until: Double)
        case superseded
    }

    /// What is remembered of a key that has let a message wait.
    struct Record {
        let level: PacedKey.Level
        let route: String
        let subject: String
        let since: Double
        let reportedAt: Double
        var superseded = 0
        /// The time of the newest change that was told to ask again.
        var newest = Int64.min
    }

    private var own = PaceTable(capacity: mostKeys)
    private var wide = PaceTable(capacity: mostRoutes)
    private var records: [ResourceKey: Record] = [:]
    /// The keys that have just begun to let messages wait, until they are reported.
    private var news: [ResourceKey] = []

    /// What the wall clock is ahead of the guard's clock, modulo a day, and when that was read: keys pause at times of
    /// day that all devices have in common.
    private var (offset, alignedAt) = (0.0, -Double.infinity)

    /// Reads the wall clock, unless it was read a short time ago: it may be set at any time.
    mutating func align(_ now: MonotonicInstant, _ wall: () -> Int64?) {
        guard now.seconds - alignedAt >= Pace.slot, let wall = wall() else { return }
        alignedAt = now.seconds
        offset = (Double(wall) / 1000 - now.seconds).truncatingRemainder(dividingBy: 86_400)
    }

    private func time(of message: RoutedMessage) -> Double { message.admittedAt.seconds }

    /// How many keys were forgotten while they still counted.
    var forgottenEarly: Int { own.forgottenEarly + wide.forgottenEarly }

    // MARK: Hearing

    /// Records the arrival of a message; it waits until it passes, or ``leave(_:isSuperseded:_:)`` is called for it.
    ///
    /// In a lane of a service it is heard once; else its transport may deliver it again. A message that a service has
    /// accepted before, or that this device caused, comes again and is no new traffic.
    mutating func hear(_ message: inout RoutedMessage, isInLane: Bool, isAgain: Bool, _ secret: DedupeSecret) {
        let now = time(of: message)
        let hasWaited = message.admittedAt.seconds - message.arrivedAt.seconds >= Self.late
        let isNew = !isAgain && message.message.storage.isNewArrival && !hasWaited
        var (isPlain, waitsAlready) = (true, false)
        for route in message.routes where !route.isUnlimited {
            let keys = PaceKeys(message.message, at: message.place, for: route, secret)
            let limits = route.limits(isObject: keys.isObject)
            guard let place = own.place(of: keys.own, limits, now) else { continue }
            waitsAlready = !isInLane && (hasWaited || compares(message, keys.own, <=))
            // One that others have overtaken on its way is new traffic, and may be counted among those that wait.
            if !waitsAlready || isNew && compares(message, keys.own, <) {
                own[place].hear(now, isNew: isNew, waits: !waitsAlready, limits)
            }
            isPlain = isPlain && own[place].isPlain
        }
        message.heard = isPlain ? .asNew : .asKnown
        if isPlain, !waitsAlready { hearWide(message, now, isNew: isNew) }
    }

    private mutating func hearWide(_ message: RoutedMessage, _ now: Double, isNew: Bool) {
        eachWide(message, now) { pace, limits in pace.hear(now, isNew: isNew, limits) }
    }

    /// Whether a message's time compares so with that of the newest change of its key that was told to ask again.
    private func compares(_ message: RoutedMessage, _ key: ResourceKey, _ order: (Int64, Int64) -> Bool) -> Bool {
        guard !records.isEmpty, let newest = records[key]?.newest, let time = message.message.serverTime else {
            return false
        }
        return order(time, newest)
    }

    /// Records that a message no longer waits, although it has not passed; a `superseded` one is counted.
    mutating func leave(_ message: RoutedMessage, isSuperseded: Bool = false, _ secret: DedupeSecret) {
        for route in message.routes { leave(message, route, isSuperseded: isSuperseded, secret) }
        leaveWide(message)
    }

    /// The same for one route that does not get it.
    mutating func leave(
        _ message: RoutedMessage, _ route: Route, isSuperseded: Bool = false, _ secret: DedupeSecret
    ) {
        guard !route.isUnlimited else { return }
        let key = PaceKeys(message.message, at: message.place, for: route, secret).own
        if let place = own.find(key) { own[place].leave() }
        if isSuperseded { records[key]?.superseded += 1 }
    }

    /// Records that a route whose messages are stopped does not get one that waits.
    mutating func leaveStopped(_ message: RoutedMessage, _ route: Route, _ secret: DedupeSecret) {
        leave(message, route, secret)
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
    mutating func passAtOnce(_ message: RoutedMessage, _ secret: DedupeSecret) -> Bool {
        guard message.routes.count == 1, let route = message.routes.first, !route.isUnlimited else { return false }
        let now = time(of: message)
        let keys = PaceKeys(message.message, at: message.place, for: route, secret)
        guard let own = own.place(of: keys.own, route.limits(isObject: keys.isObject), now),
            let wide = self.wide.place(of: ResourceKey(route), route.newKeys, now),
            let device = self.wide.place(of: .device, .device, now),
            self.own[own].isReady(now, route.limits(isObject: keys.isObject)),
            self.wide[wide].isReady(now, route.newKeys),
            route.options.pace != .standard || self.wide[device].isReady(now, .device)
        else { return false }
        self.own[own].pass()
        self.wide[wide].pass()
        if route.options.pace == .standard { self.wide[device].pass() }
        return true
    }

    /// Decides about a message that was heard; if it may not pass for one of its routes, it waits for all of them.
    mutating func ask(_ message: RoutedMessage, _ secret: DedupeSecret) -> Answer {
        if isReplaced(message, secret) {
            leave(message, isSuperseded: true, secret)
            return .superseded
        }
        let now = time(of: message)
        var round = Round()
        for route in message.routes where !route.isUnlimited {
            let keys = PaceKeys(message.message, at: message.place, for: route, secret)
            let limits = route.limits(isObject: keys.isObject)
            guard let place = own.place(of: keys.own, limits, now) else { continue }
            // The other routes are asked, too: each would listen alone, one after another.
            if round.waits(place, &own, now, limits, offset) {
                record(
                    keys.own, keys.isObject ? .object : .letters, message, route, now, isFirst: own[place].waiting == 1)
            }
        }
        if round.until == nil {
            if round.source == .floor { round.until = askWide(message, now) } else { leaveWide(message) }
        }
        guard let until = round.until else { return .pass(isFromFloor: round.source == .floor) }
        round.undo(&own)
        return .later(until: until)
    }

    /// Asks the paces of new keys; returns when it may ask again, or nil if it passes.
    private mutating func askWide(_ message: RoutedMessage, _ now: Double) -> Double? {
        if message.heard != .asNew { hearWide(message, now, isNew: false) }
        var round = Round()
        for route in message.routes where !route.isUnlimited {
            askWide(ResourceKey(route), route.newKeys, .route, message, route, now, &round)
        }
        // What a route's rate lets pass comes by itself: the device need not listen to it, too.
        if round.until == nil, round.source < .rate,
            let first = message.routes.first(where: { $0.options.pace == .standard })
        {
            askWide(.device, .device, .device, message, first, now, &round)
        } else if round.until == nil, message.heard == .asNew, let place = wide.find(.device) {
            wide[place].leave()
        }
        guard let until = round.until else { return nil }
        round.undo(&wide)
        if message.heard != .asNew { eachWide(message, now) { pace, _ in pace.leave() } }
        return until
    }

    private mutating func askWide(
        _ key: ResourceKey, _ limits: Pace.Limits, _ level: PacedKey.Level, _ message: RoutedMessage, _ route: Route,
        _ now: Double, _ round: inout Round
    ) {
        guard let place = wide.place(of: key, limits, now) else { return }
        if round.waits(place, &wide, now, limits, offset) {
            record(key, level, message, route, now, isFirst: wide[place].waiting == 1)
        }
    }

    /// Returns the tokens of a message that passed from the floors and was not handled.
    mutating func giveBack(_ message: RoutedMessage, _ secret: DedupeSecret) {
        for route in message.routes where !route.isUnlimited {
            let keys = PaceKeys(message.message, at: message.place, for: route, secret)
            if let place = own.find(keys.own) { own[place].giveBack(route.limits(isObject: keys.isObject)) }
        }
        eachWide(message, time(of: message)) { pace, limits in pace.giveBack(limits) }
    }

    // MARK: Newest wins

    /// Whether the newest change of a message's object should take the place of older ones that wait.
    mutating func takesNewest(_ message: RoutedMessage, _ secret: DedupeSecret) -> Bool {
        !message.routes.isEmpty && message.routes.allSatisfy { hasFailed($0, message, secret) != nil }
    }

    /// The key of a route's pace by which not all of an object's changes that wait may pass; nil if they may.
    private mutating func hasFailed(
        _ route: Route, _ message: RoutedMessage, _ secret: DedupeSecret
    ) -> ResourceKey? {
        guard !route.isUnlimited else { return nil }
        let keys = PaceKeys(message.message, at: message.place, for: route, secret)
        let limits = route.limits(isObject: keys.isObject)
        guard limits.newestWins, let place = own.find(keys.own), own[place].hasFailed(time(of: message), limits) else {
            return nil
        }
        return keys.own
    }

    /// Whether a newer change that waits takes a message's place, for all of its routes.
    private mutating func isReplaced(_ message: RoutedMessage, _ secret: DedupeSecret) -> Bool {
        guard !records.isEmpty else { return false }
        return message.routes.allSatisfy { route in
            hasFailed(route, message, secret).map { compares(message, $0, <) } ?? false
        }
    }

    // MARK: Reports

    /// Records that a message was told to wait; the `isFirst` of its key, or another one.
    private mutating func record(
        _ key: ResourceKey, _ level: PacedKey.Level, _ message: RoutedMessage, _ route: Route, _ now: Double,
        isFirst: Bool
    ) {
        if records[key].map({ isFirst && now - $0.reportedAt >= Self.reportPause }) ?? true {
            if records.count > Self.mostRoutes { forgetRecords(now) }
            records[key] = Record(
                level: level, route: route.id, subject: message.message.paceSubject, since: now, reportedAt: now)
            news.append(key)
        }
        if level == .object, let time = message.message.serverTime, let newest = records[key]?.newest {
            records[key]?.newest = max(time, newest)
        }
    }

    private func table(_ level: PacedKey.Level) -> PaceTable { level == .object || level == .letters ? own : wide }

    private func isLimiting(_ key: ResourceKey, _ level: PacedKey.Level, _ now: Double) -> Bool {
        let table = table(level)
        return table.find(key).map { table.isLimiting($0, now) } ?? false
    }

    private mutating func forgetRecords(_ now: Double) {
        records = records.filter { key, record in
            now - record.reportedAt < Self.reportPause || isLimiting(key, record.level, now)
        }
    }

    /// The keys whose messages wait now, those that wait longest first.
    func paced(_ now: Double) -> [PacedKey] {
        records.filter { isLimiting($0.key, $0.value.level, now) }.map { snapshot($0.key, $0.value) }
            .sorted { $0.since < $1.since }
    }

    var hasNews: Bool { !news.isEmpty }

    /// Takes the keys that have just begun to let messages wait.
    mutating func takeNews() -> [PacedKey] {
        defer { news = [] }
        return news.compactMap { key in records[key].map { snapshot(key, $0) } }
    }

    private func snapshot(_ key: ResourceKey, _ record: Record) -> PacedKey {
        let table = table(record.level)
        return PacedKey(
            level: record.level, route: record.route, subject: record.subject,
            since: MonotonicInstant(seconds: record.since),
            waiting: table.find(key).map { table[$0].waiting } ?? 0, superseded: record.superseded)
    }
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

extension PushMessage {
    /// What it is about, for a report: its object or topic, else its kind.
    fileprivate var paceSubject: String {
        if let object { return object.uri.description }
        return PushToUserMessage(self)?.topic?.uri.description ?? kind.description
    }
}
