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

    let key: ResourceKey
    private var passes = PassWindow()
    /// How long what passed counts, by the limit that it was last judged by.
    private var span: Int64
    /// What is known of one that has opened: none, or one.
    ///
    /// An array, so that the many that never have carry one empty reference. A message of another object each time
    /// finds its breaker out of the cache and pays for each line of it: with 80 bytes in place of 176, some 20 ns less.
    private var opened: [Suspicion] = []

    init(_ key: ResourceKey, _ limit: RateLimit) {
        self.key = key
        span = limit.slowSpan
    }

    /// A breaker that opened in an earlier process.
    init(_ key: ResourceKey, _ limit: RateLimit, waitingUntil end: Int64, backoff: Int64, _ now: Int64) {
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

    /// Whether it may open by chance, in a stream of which its key has a part.
    var isUnsuspected: Bool { opened.first?.isUnsuspected ?? true }
    /// The pace with which a narrower key needs no look at it.
    func partPace(of level: BreakerLevel) -> Double { opened.first?.partPace(of: level) ?? 0 }

    // MARK: Counting

    /// What a breaker says about a message that comes.
    enum Answer {
        case pass
        /// It passes, and was shown to be caused by nobody here: no wider breaker need count it.
        case passTrusted
        case hold
    }

    /// Counts a message that passes a breaker that never opened, as nearly each does; else does nothing, and it is to
    /// be judged.
    @inline(__always)
    mutating func pass(_ now: Int64, _ limit: RateLimit) -> Bool {
        guard opened.isEmpty, passes.count(limit.slowSpan, now) < limit.messages else { return false }
        span = limit.slowSpan
        passes.add(now, limit.slowSpan, limit: limit.slowMessages)
        return true
    }

    /// Judges a message that comes, and counts it if it passes.
    mutating func judge(_ arrival: Arrival, _ limit: RateLimit) -> Answer {
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

    /// Takes down that it holds a message of narrower keys.
    mutating func tally(_ keys: RateKeys, heldBy level: BreakerLevel) {
        if !opened.isEmpty { opened[0].tally(keys, heldBy: level) }
    }

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
        opened.isEmpty ? [] : opened[0].held.remove(where: condition)
    }

    /// Takes the first message out that a condition holds for, among so many of the oldest.
    mutating func takeHeld(amongOldest most: Int, where condition: (HeldMessage) -> Bool) -> HeldMessage? {
        opened.isEmpty ? nil : opened[0].held.take(amongOldest: most, where: condition)
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
