/// The breaker of one key: counts what passes, and once that is too much finds out whether handling it causes more.
///
/// ```
///          too many              nothing but what came before
/// closed ───────────▶ listening ──────────────────────────────▶ trying ─▶ watching
///    ▲                    ▲                                       ▲          │  │
///    │ nothing held       └────── what came anyway has ended ─────┼──────────┘  │
///    │                                       the wait is over     │             │
///    └─ releasing ◀── handling caused nothing ── waiting ◀── it caused more ────┘
/// ```
///
/// ``Suspicion`` has what only a breaker that has opened knows.
struct Breaker {
    enum Phase: Equatable {
        case closed
        /// Nothing is handled, to see what comes anyway.
        case listening(until: Int64)
        /// Some messages are handled.
        case trying
        /// Nothing is handled, to see whether more comes than before.
        case watching(until: Int64)
        /// It was a loop; nothing is handled.
        case waiting(until: Int64)
        /// It was none; what is held follows in order.
        case releasing
    }

    let key: PlaceKey
    private var passes = PassWindow()
    /// How long what passed counts, by the limit that it was last judged by.
    private var span: Int64
    /// What is known of one that has opened: none, or one.
    ///
    /// An array, so that the many that never have carry one empty reference. A message of another object each time finds
    /// its breaker out of the cache and pays for each line of it: with 80 bytes in place of 176, some 20 ns less.
    private var opened: [Suspicion] = []

    init(_ key: PlaceKey, _ limit: Limit) {
        self.key = key
        span = limit.slowSpan
    }

    /// A breaker that opened in an earlier process.
    init(_ key: PlaceKey, _ limit: Limit, waitingUntil end: Int64, backoff: Int64, _ now: Int64) {
        self.init(key, limit)
        opened = [Suspicion(limit, waitingUntil: end, backoff: backoff, now)]
    }

    var phase: Phase { opened.first?.phase ?? .closed }
    /// For how long it waits after a loop, or did the last time; 0 when there was none.
    var backoff: Int64 { opened.first?.backoff ?? 0 }
    /// Whether it is trusted and no wider breaker need count what passes.
    var isIndependent: Bool { opened.first?.isIndependent ?? false }
    var held: [HeldMessage] { opened.first?.held.all ?? [] }
    var heldCount: Int { opened.first?.held.count ?? 0 }
    var oldestHeld: HeldMessage? { opened.first?.held.first }
    /// When there is something to do; nil when nothing is, or messages of it run.
    var due: Int64? { opened.first?.due ?? nil }

    // MARK: Counting

    /// What a breaker says about a message that comes.
    enum Answer {
        case pass
        /// It passes, and was shown to be caused by nobody here: no wider breaker need count it.
        case passTrusted
        case hold
    }

    /// Counts a message that passes a breaker that never opened, as nearly each does; else does nothing, and it is to be
    /// judged.
    @inline(__always)
    mutating func pass(_ now: Int64, _ limit: Limit) -> Bool {
        guard opened.isEmpty, passes.count(limit.slowSpan, now) < limit.messages else { return false }
        span = limit.slowSpan
        passes.add(now, limit.slowSpan, limit: limit.slowMessages)
        return true
    }

    /// Judges a message that comes, and counts it if it passes.
    mutating func judge(_ arrival: Arrival, _ limit: Limit) -> Answer {
        let now = arrival.now
        span = limit.slowSpan
        if opened.isEmpty {
            if limit.lets(&passes, now) {
                passes.add(now, limit.slowSpan, limit: limit.slowMessages)
                return .pass
            }
            opened.append(Suspicion(limit, now))
        }
        let answer = opened[0].judge(arrival, limit, &passes)
        resetPasses()
        return answer
    }

    /// Takes down that a message came which a narrower breaker has judged.
    mutating func note(_ arrival: Arrival) { if !opened.isEmpty { opened[0].note(arrival) } }

    /// Takes back a message that passed and was not handled.
    mutating func takeBack() { passes.takeBack() }

    /// Whether it can be forgotten: nothing is held, and nothing still counts.
    mutating func isIdle(_ now: Int64) -> Bool {
        (opened.isEmpty || opened[0].isOver(now)) && passes.count(span, now) == 0
    }

    /// Whether it can be forgotten when there is no more room.
    var isExpendable: Bool { opened.isEmpty || opened[0].isExpendable }

    private mutating func resetPasses() {
        guard !opened.isEmpty, opened[0].isPassesReset else { return }
        opened[0].isPassesReset = false
        passes = PassWindow()
    }

    // MARK: Held messages

    /// Promises a place, if there is one left, for a message that it has told to wait.
    mutating func promise(upTo most: Int) -> Bool { !opened.isEmpty && opened[0].promise(upTo: most) }

    /// Puts a message into its promised place.
    mutating func hold(_ message: HeldMessage) { if !opened.isEmpty { opened[0].hold(message) } }

    /// Takes out the held messages that a condition holds for.
    mutating func removeHeld(where condition: (HeldMessage) -> Bool) -> [HeldMessage] {
        opened.isEmpty ? [] : opened[0].removeHeld(where: condition)
    }

    /// Takes the first message out that a condition holds for, among so many of the oldest.
    mutating func takeHeld(amongOldest most: Int, where condition: (HeldMessage) -> Bool) -> HeldMessage? {
        opened.isEmpty ? nil : opened[0].takeHeld(amongOldest: most, where: condition)
    }

    /// The message whose turn it is, oldest first, where `others` were handled lately; nil when none is due.
    mutating func takeDue(_ now: Int64, _ others: TimeBins) -> HeldMessage? {
        guard !opened.isEmpty else { return nil }
        let message = opened[0].takeDue(now, others)
        resetPasses()
        return message
    }

    /// Learns that the message whose turn it was has ended.
    mutating func turnEnded(_ now: Int64) { if !opened.isEmpty { opened[0].turnEnded(now) } }
}

extension Breaker {
    /// How many messages a breaker lets pass: so many in a span, and so many in a longer one; in nanoseconds.
    struct Limit {
        let messages: Int
        let span: Int64
        let slowMessages: Int
        let slowSpan: Int64
        /// How long it waits after the first loop.
        let coolDown: Int64

        fileprivate init(_ window: LoopRate.Window, slow: LoopRate.Window? = nil, coolDown: Duration) {
            messages = window.messages
            span = window.per.inNanoseconds
            slowMessages = slow?.messages ?? window.messages
            slowSpan = slow?.per.inNanoseconds ?? span
            self.coolDown = coolDown.inNanoseconds
        }

        /// Whether one more may pass.
        func lets(_ passes: inout PassWindow, _ now: Int64) -> Bool {
            passes.count(slowSpan, now) < slowMessages && passes.count(since: now.since(span)).count < messages
        }

        /// The pace at which the limit was reached, in messages a second.
        func pace(_ passes: PassWindow, _ now: Int64) -> Double {
            let fast = passes.count(since: now.since(span))
            let (count, first) = fast.count >= messages ? fast : passes.count(since: now.since(slowSpan))
            return Double(count) / max(Double(now.since(first)) / 1e9, 0.02)
        }
    }

    /// The limits of a rate's breakers; made once, since a `Duration` is divided to be one number.
    struct Limits {
        let narrow: Limit
        let wide: Limit
        let route: Limit
        let device: Limit

        init(_ rate: LoopRate) {
            narrow = Limit(
                LoopRate.Window(messages: rate.messages, per: rate.per), slow: rate.sustained, coolDown: rate.coolDown)
            wide = Limit(rate.ofBucket, coolDown: rate.coolDown)
            route = Limit(rate.ofRoute, coolDown: rate.coolDown)
            device = Limit(rate.ofDevice, coolDown: rate.coolDown)
        }
    }
}
