/// The breaker of one key: counts what passes, and once that is too much holds what comes until a probe finds it quiet.
///
/// ```
///          too many               cool-down over, the oldest goes alone
/// closed ────────────▶ open ──────────────────────────────────────────▶ probing
///    ▲                  ▲  the probe brought more: cool-down doubled         │
///    │ nothing held     └───────────────────────────────┬─────────────────── │ it ended
///    └───────────── draining ◀── it brought none in `per` ─ quiet ◀──────────┘
/// ```
///
/// What comes while nothing is handled was not caused here. So the messages of the middle of the cool-down, when those
/// that were still on their way have come and nobody else probes yet, say how many come anyway; a probe has brought
/// more only when there are over twice as many after it. Else an object that honestly changes each second, held once
/// after a burst, would never be handled again. What a transport delivers again counts neither here nor there.
struct Breaker {
    enum Phase: Equatable {
        case closed
        case open(until: Int64)
        /// One message runs alone; `seen` have come meanwhile.
        case probing(seen: Int)
        /// The probe has ended; more messages than come anyway before `until` show that the loop goes on.
        case quiet(until: Int64, seen: Int)
        /// What was held follows in order; `isBusy` while one of it runs.
        case draining(isBusy: Bool)
    }

    /// How many messages a breaker counts, in nanoseconds.
    struct Limit {
        let messages: Int
        let span: Int64
        let per: Int64
        let coolDown: Int64

        fileprivate init(_ rate: LoopRate, isWide: Bool) {
            messages = isWide ? rate.wideMessages : rate.messages
            span = (isWide ? rate.widePer : rate.per).inNanoseconds
            per = rate.per.inNanoseconds
            coolDown = rate.coolDown.inNanoseconds
        }
    }

    /// The limits of a rate's two breakers; made once, since a `Duration` is divided to be one number.
    struct Limits {
        let narrow: Limit
        let wide: Limit

        init(_ rate: LoopRate) {
            narrow = Limit(rate, isWide: false)
            wide = Limit(rate, isWide: true)
        }
    }

    let key: PlaceKey
    private var passes = PassWindow()
    /// How long what passed counts, by the limit that it was last judged by.
    private var span: Int64
    /// What is known of one that has opened: none, or one.
    ///
    /// An array, so that the many that never have carry one empty reference. A message of another object each time finds
    /// its breaker out of the cache and pays for each line of it: with 80 bytes in place of 176, some 20 ns less.
    private var trips: [BreakerTrip] = []

    init(_ key: PlaceKey, _ limit: Limit) {
        self.key = key
        span = limit.span
    }

    /// A breaker that opened in an earlier process.
    init(_ key: PlaceKey, _ limit: Limit, openUntil end: Int64, coolDown: Int64, _ now: Int64) {
        self.init(key, limit)
        trips = [BreakerTrip(limit, openUntil: end, coolDown: coolDown, now)]
    }

    var phase: Phase { trips.first?.phase ?? .closed }
    /// For how long it is open, or was the last time; 0 when it never was.
    var coolDown: Int64 { trips.first?.coolDown ?? 0 }
    var held: [HeldMessage] { trips.first?.held ?? [] }
    /// When there is something to do; nil when nothing is, or one message of it runs.
    var due: Int64? { trips.first?.due ?? nil }

    // MARK: Counting

    /// What a breaker says about a message that comes.
    enum Answer {
        case pass
        /// It may pass, alone: the cool-down is over, and nothing older is held.
        case passAsProbe
        case hold
    }

    /// Counts a message that passes a closed breaker, as nearly each does; else does nothing, and it is to be judged.
    @inline(__always)
    mutating func pass(_ now: Int64, _ limit: Limit) -> Bool {
        guard trips.isEmpty || phase == .closed, passes.count(limit.span, now) < limit.messages else { return false }
        span = limit.span
        passes.add(now, limit.span, limit: limit.messages)
        return true
    }

    /// Judges a message that comes; counting it, if it passes, is left to ``count(_:_:)``.
    mutating func judge(_ now: Int64, _ limit: Limit, isNew: Bool = true) -> Answer {
        span = limit.span
        let isTooMany = passes.count(limit.span, now) >= limit.messages
        if trips.isEmpty {
            guard isTooMany else { return .pass }
            trips.append(BreakerTrip(limit))
        }
        let answer = trips[0].judge(now, limit, isTooMany: isTooMany, isNew: isNew)
        // It queues behind what is held, and counts as passed: a loop that outlives the probe opens it again.
        if case .draining = phase { count(now, limit) }
        return answer
    }

    /// Counts a message that passes, or lets it be the probe.
    mutating func count(_ now: Int64, _ limit: Limit) {
        if !trips.isEmpty { trips[0].beginProbe() }
        passes.add(now, limit.span, limit: limit.messages)
    }

    /// Takes back a message that passed and was not handled.
    mutating func takeBack() { passes.takeBack() }

    /// Whether it can be forgotten: nothing is held, and nothing still counts.
    mutating func isIdle(_ now: Int64) -> Bool {
        (trips.isEmpty || trips[0].isOver(now)) && passes.count(span, now) == 0
    }

    /// Whether it can be forgotten when there is no more room.
    var isExpendable: Bool { trips.isEmpty || trips[0].isExpendable }

    // MARK: Held messages

    /// Promises a place, if there is one left, for a message that it has told to wait.
    mutating func promise(upTo most: Int) -> Bool { !trips.isEmpty && trips[0].promise(upTo: most) }

    /// Puts a message into its promised place.
    mutating func hold(_ message: HeldMessage, _ now: Int64) { if !trips.isEmpty { trips[0].hold(message) } }

    /// Takes out the held messages that a condition holds for.
    mutating func removeHeld(where condition: (HeldMessage) -> Bool) -> [HeldMessage] {
        trips.isEmpty ? [] : trips[0].removeHeld(where: condition)
    }

    /// The message whose turn it is, oldest first; nil when none is due.
    mutating func takeDue(_ now: Int64) -> HeldMessage? { trips.isEmpty ? nil : trips[0].takeDue(now) }

    /// Learns that the message whose turn it was has ended.
    mutating func turnEnded(_ now: Int64) { if !trips.isEmpty { trips[0].turnEnded(now) } }
}
