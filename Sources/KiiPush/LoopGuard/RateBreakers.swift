/// All breakers of a guard, on four levels, and the messages that they hold.
struct RateBreakers {
    /// How many keys are counted at once: objects, senders or conversations; buckets or topics; routes.
    ///
    /// Beyond that, a closed breaker is forgotten early; a wider one still counts.
    static let mostNarrow = 16_384
    static let mostWide = 4096
    static let mostBroad = 4096

    /// The decision about a message for a route.
    enum Answer: Equatable {
        case pass
        case hold(BreakerID)
    }

    private var narrow = BreakerTable(capacity: mostNarrow)
    private var wide = BreakerTable(capacity: mostWide)
    private var broad = BreakerTable(capacity: mostBroad)
    /// Recently handled messages that may cause others: those of all keys that were not shown to be independent.
    private var handled = TimeBins(0)
    var budget = HeldBudget()
    private var heldCount = 0
    private var heldBytes = 0
    private var heldBytesByKey: [BreakerID: Int] = [:]

    /// How many keys were forgotten while they still counted.
    var forgottenEarly: Int { narrow.forgottenEarly + wide.forgottenEarly + broad.forgottenEarly }

    // MARK: Judging

    /// Judges a message for a route, and counts it if it passes.
    @inline(__always)
    mutating func judge(
        _ keys: RateKeys, _ limits: RateLimits, device: RateLimit, _ arrival: Arrival
    ) -> Answer {
        let now = arrival.now
        let narrowPlace = narrow.place(of: keys.narrow, limits.narrow, now)
        let ofNarrow =
            narrowPlace.map { place in
                narrow.pass(place, limits.narrow, now) ? .pass : judge(place, .object, limits.narrow, keys, arrival)
            } ?? .pass
        guard ofNarrow == .pass else { return decided(ofNarrow, .object, keys, nil, nil, arrival) }
        let widePlace = keys.wide.flatMap { wide.place(of: $0, limits.wide, now) }
        let ofWide =
            widePlace.map { place in
                wide.pass(place, limits.wide, now) ? .pass : judge(place, .bucket, limits.wide, keys, arrival)
            } ?? .pass
        guard ofWide == .pass else { return decided(ofWide, .bucket, keys, narrowPlace, nil, arrival) }
        let routePlace = broad.place(of: keys.route, limits.route, now)
        let ofRoute =
            routePlace.map { place in
                broad.pass(place, limits.route, now) ? .pass : judge(place, .route, limits.route, keys, arrival)
            } ?? .pass
        guard ofRoute == .pass else {
            return decided(ofRoute, .route, keys, narrowPlace, widePlace, arrival)
        }
        let devicePlace = broad.place(of: .device, device, now)
        let ofDevice =
            devicePlace.map { place in
                broad.pass(place, device, now) ? .pass : judge(place, .device, device, keys, arrival)
            } ?? .pass
        guard ofDevice == .pass else {
            if ofDevice == .hold, let place = routePlace { broad.use(place) { $0.takeBack() } }
            return decided(ofDevice, .device, keys, narrowPlace, widePlace, arrival)
        }
        handled.add(now)
        return .pass
    }

    /// Judges a message by a breaker that has opened before, or is about to open.
    // Never inlined: few messages come here.
    @inline(never)
    private mutating func judge(
        _ place: UInt32, _ level: BreakerLevel, _ limit: RateLimit, _ keys: RateKeys, _ arrival: Arrival
    ) -> Breaker.Answer {
        let isUnsuspected =
            switch level {
            case .object: narrow[place].isUnsuspected
            case .bucket: wide[place].isUnsuspected
            case .route, .device: broad[place].isUnsuspected
            }
        // The limit of a trusted key, such as one of a busy stream, is not raised.
        let limit = isUnsuspected ? limit.raised(by: partPace(of: level, keys)) : limit
        func judge(_ breaker: inout Breaker) -> Breaker.Answer {
            let answer = breaker.judge(arrival, limit)
            if answer == .hold, arrival.kind != .again { breaker.tally(keys, heldBy: level) }
            return answer
        }
        return switch level {
        case .object: narrow.use(place, judge)
        case .bucket: wide.use(place, judge)
        case .route, .device: broad.use(place, judge)
        }
    }

    /// The highest pace up to which a wider breaker trusts a narrower key.
    private func partPace(of level: BreakerLevel, _ keys: RateKeys) -> Double {
        func pace(_ table: BreakerTable, _ key: ResourceKey?) -> Double {
            key.flatMap { table.find($0) }.map { table[$0].partPace(of: level) } ?? 0
        }
        return switch level {
        case .object: max(pace(wide, keys.wide), pace(broad, keys.route), pace(broad, .device))
        case .bucket: max(pace(broad, keys.route), pace(broad, .device))
        case .route: pace(broad, .device)
        case .device: 0
        }
    }

    /// The decision of a breaker that holds a message or trusts it: narrower ones do not count a held message, and
    /// wider ones do not judge it.
    // Never inlined: few messages come here.
    @inline(never)
    private mutating func decided(
        _ answer: Breaker.Answer, _ level: BreakerLevel, _ keys: RateKeys, _ narrowPlace: UInt32?, _ widePlace: UInt32?,
        _ arrival: Arrival
    ) -> Answer {
        if arrival.kind != .again { note(keys, above: level, arrival) }
        guard answer == .hold else { return .pass }
        takeBack(narrowPlace, widePlace)
        return switch level {
        case .object: .hold(BreakerID(level: .object, key: keys.narrow))
        case .bucket: keys.wide.map { .hold(BreakerID(level: .bucket, key: $0)) } ?? .pass
        case .route: .hold(BreakerID(level: .route, key: keys.route))
        case .device: .hold(BreakerID(level: .device, key: .device))
        }
    }

    /// Records a message that a narrower breaker has judged in the wider ones, so that a key does not seem to end while
    /// the narrower one holds or trusts it.
    private mutating func note(_ keys: RateKeys, above level: BreakerLevel, _ arrival: Arrival) {
        if level == .object, let key = keys.wide { wide.note(key, arrival) }
        if level == .object || level == .bucket { broad.note(keys.route, arrival) }
        if level != .device { broad.note(.device, arrival) }
    }

    private mutating func takeBack(_ narrowPlace: UInt32?, _ widePlace: UInt32?) {
        if let place = narrowPlace { narrow.use(place) { $0.takeBack() } }
        if let place = widePlace { wide.use(place) { $0.takeBack() } }
    }

    /// Subtracts a message that passed and was not handled, up to the breaker that trusted it: no wider one has counted
    /// it.
    mutating func takeBack(_ keys: RateKeys) {
        func takeBack(_ breaker: inout Breaker) -> Bool {
            breaker.takeBack()
            return breaker.isIndependent
        }
        if let place = narrow.find(keys.narrow), narrow.use(place, takeBack) { return }
        if let key = keys.wide, let place = wide.find(key), wide.use(place, takeBack) { return }
        if let place = broad.find(keys.route), broad.use(place, takeBack) { return }
        if let place = broad.find(.device) { broad.use(place) { $0.takeBack() } }
    }

    // MARK: Holding

    /// Reserves a place for a held message; false if none is left.
    mutating func promise(_ id: BreakerID, bytes: Int) -> Bool {
        let ofKey = heldBytesByKey[id] ?? 0
        guard heldCount < budget.messages, heldBytes + bytes <= budget.bytes,
            ofKey + bytes <= budget.bytesPerKey || ofKey == 0
        else { return false }
        let most = budget.messagesPerKey
        guard use(id, { $0.promise(upTo: most) }) == true else { return false }
        heldCount += 1
        heldBytes += bytes
        heldBytesByKey[id] = ofKey + bytes
        return true
    }

    private mutating func forget(_ messages: [HeldMessage], of id: BreakerID) {
        guard !messages.isEmpty else { return }
        heldCount -= messages.count
        let bytes = messages.reduce(0) { $0 + $1.bytes }
        heldBytes -= bytes
        let left = (heldBytesByKey[id] ?? 0) - bytes
        heldBytesByKey[id] = left > 0 ? left : nil
    }

    /// Puts a message into its reserved place.
    mutating func hold(_ message: HeldMessage, _ id: BreakerID) { use(id) { $0.hold(message) } }

    /// The held messages, oldest first.
    var held: [HeldMessage] {
        [narrow, wide, broad].flatMap { $0.trippedBreakers.flatMap(\.held) }.sorted { $0.id < $1.id }
    }

    /// Removes the held messages that meet a condition, oldest first.
    mutating func removeHeld(where condition: (HeldMessage) -> Bool) -> [HeldMessage] {
        var removed: [HeldMessage] = []
        for id in tripped {
            let some = use(id) { $0.removeHeld(where: condition) } ?? []
            forget(some, of: id)
            removed += some
        }
        return removed.sorted { $0.id < $1.id }
    }

    /// Removes the first message that meets a condition, among the `most` oldest of a breaker.
    mutating func takeHeld(
        of id: BreakerID, amongOldest most: Int, where condition: (HeldMessage) -> Bool
    ) -> HeldMessage? {
        guard let taken = use(id, { $0.takeHeld(amongOldest: most, where: condition) }) ?? nil else { return nil }
        forget([taken], of: id)
        return taken
    }

    /// The message whose turn it is now, and its breaker.
    mutating func takeDue(_ now: Int64) -> (message: HeldMessage, breaker: BreakerID)? {
        for id in tripped where isDue(id, now) {
            let others = handled
            guard let message = use(id, { $0.takeDue(now, others) }) ?? nil else { continue }
            forget([message], of: id)
            if breaker(id)?.isIndependent != true { handled.add(now) }
            return (message, id)
        }
        return nil
    }

    private func isDue(_ id: BreakerID, _ now: Int64) -> Bool {
        breaker(id)?.due.map { $0 <= now } ?? false
    }

    /// When the next step is due.
    var nextDue: Int64? {
        let all = [narrow, wide, broad]
        return all.compactMap { $0.trippedBreakers.compactMap(\.due).min() }.min()
    }

    /// Called when a message that had its turn has ended.
    mutating func turnEnded(_ id: BreakerID, _ now: Int64) { use(id) { $0.turnEnded(now) } }

    // MARK: Which breaker

    /// The breakers that are not closed.
    var tripped: [BreakerID] {
        narrow.trippedBreakers.map { BreakerID(level: .object, key: $0.key) }
            + wide.trippedBreakers.map { BreakerID(level: .bucket, key: $0.key) }
            + broad.trippedBreakers.map { BreakerID(level: $0.key.broadLevel ?? .route, key: $0.key) }
    }

    /// A breaker as it is now; nil if there is none.
    func breaker(_ id: BreakerID) -> Breaker? {
        switch id.level {
        case .object: narrow.find(id.key).map { narrow[$0] }
        case .bucket: wide.find(id.key).map { wide[$0] }
        case .route, .device: broad.find(id.key).map { broad[$0] }
        }
    }

    @discardableResult
    private mutating func use<Result>(_ id: BreakerID, _ body: (inout Breaker) -> Result) -> Result? {
        switch id.level {
        case .object: narrow.find(id.key).map { narrow.use($0, body) }
        case .bucket: wide.find(id.key).map { wide.use($0, body) }
        case .route, .device: broad.find(id.key).map { broad.use($0, body) }
        }
    }
}
