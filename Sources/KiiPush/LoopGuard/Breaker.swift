/// The breaker of one key: counts the messages that pass, and if they exceed the limit, tests whether handling them
/// causes more.
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
/// ``Suspicion`` is the state of a breaker that has opened.
struct Breaker {
    enum Phase: Equatable {
        case closed
        /// Nothing is handled, to measure what arrives anyway.
        case listening(until: Int64)
        /// Some messages are handled.
        case trying
        /// Nothing is handled, to see whether more arrives than before.
        case watching(until: Int64)
        /// It was a loop; nothing is handled.
        case waiting(until: Int64)
        /// It was not a loop; held messages follow in order.
        case releasing
        /// It is trusted; nothing is handled for a moment, to see whether fewer arrive.
        case pausing(until: Int64)
    }

    let key: ResourceKey
    private var passes = PassWindow()
    /// How long passed messages count, by the limit of the last judgement.
    private var span: Int64
    /// The state of a breaker that has opened: no element, or one.
    ///
    /// An array, so that the many that never opened carry one empty reference. If each message is of another object,
    /// its breaker is not in the cache and every cache line costs: 80 bytes instead of 176 save some 20 ns.
    private var opened: [Suspicion] = []

    init(_ key: ResourceKey, _ limit: RateLimit) {
        self.key = key
        span = limit.slowSpan
    }

    var phase: Phase { opened.first?.phase ?? .closed }
    /// How long it waits after a loop, or waited after the last one; 0 if there was none.
    var backoff: Int64 { opened.first?.backoff ?? 0 }
    /// Whether it is trusted, so that wider breakers need not count what passes.
    var isIndependent: Bool { opened.first?.isIndependent ?? false }
    var held: [HeldMessage] { opened.first?.held.all ?? [] }
    var heldCount: Int { opened.first?.held.count ?? 0 }
    var oldestHeld: HeldMessage? { opened.first?.held.first }
    /// When its next step is due; nil if none is, or while its messages are being handled.
    var due: Int64? { opened.first?.due ?? nil }

    /// Whether it may open by chance, because its key is a part of a wider stream.
    var isUnsuspected: Bool { opened.first?.isUnsuspected ?? true }
    /// Whether it found a loop among messages that nothing here causes.
    var isLoopAmongOthers: Bool { opened.first?.isLoopAmongOthers ?? false }
    /// The pace up to which it trusts a narrower key.
    func partPace(of level: BreakerLevel) -> Double { opened.first?.partPace(of: level) ?? 0 }

    // MARK: Counting

    /// A breaker's decision about a message.
    enum Answer {
        case pass
        /// It passes, and its stream was shown to be caused elsewhere: wider breakers need not count it.
        case passTrusted
        case hold
    }

    /// Counts a message that passes a breaker that never opened, the common case; else does nothing and returns false,
    /// and ``judge(_:_:)`` decides.
    @inline(__always)
    mutating func pass(_ now: Int64, _ limit: RateLimit) -> Bool {
        guard opened.isEmpty, passes.count(limit.slowSpan, now) < limit.messages else { return false }
        span = limit.slowSpan
        passes.add(now, limit.slowSpan, limit: limit.slowMessages)
        return true
    }

    /// Judges a message, and counts it if it passes.
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

    /// Records the arrival of a message that a narrower breaker has judged.
    mutating func note(_ arrival: Arrival) { if !opened.isEmpty { opened[0].note(arrival) } }

    /// Records that it holds a message of narrower keys.
    mutating func tally(_ keys: RateKeys, heldBy level: BreakerLevel) {
        if !opened.isEmpty { opened[0].tally(keys, heldBy: level) }
    }

    /// Subtracts a message that passed and was not handled.
    mutating func takeBack() { passes.takeBack() }

    /// Whether it can be forgotten: no message is held, and none still counts.
    mutating func isIdle(_ now: Int64) -> Bool {
        (opened.isEmpty || opened[0].isOver(now)) && passes.count(span, now) == 0
    }

    /// Whether it can be forgotten if the capacity is used up.
    var isExpendable: Bool { opened.isEmpty || opened[0].isExpendable }

    private mutating func resetPasses() {
        guard !opened.isEmpty, opened[0].isPassesReset else { return }
        opened[0].isPassesReset = false
        passes = PassWindow()
    }

    // MARK: Held messages

    /// Reserves a place, if one is left, for a message that it decided to hold.
    mutating func promise(upTo most: Int) -> Bool { !opened.isEmpty && opened[0].promise(upTo: most) }

    /// Puts a message into its reserved place.
    mutating func hold(_ message: HeldMessage) { if !opened.isEmpty { opened[0].hold(message) } }

    /// Removes the held messages that meet a condition.
    mutating func removeHeld(where condition: (HeldMessage) -> Bool) -> [HeldMessage] {
        opened.isEmpty ? [] : opened[0].held.remove(where: condition)
    }

    /// Removes the first message that meets a condition, among the `most` oldest.
    mutating func takeHeld(amongOldest most: Int, where condition: (HeldMessage) -> Bool) -> HeldMessage? {
        opened.isEmpty ? nil : opened[0].held.take(amongOldest: most, where: condition)
    }

    /// The message whose turn it is, oldest first; nil if none is due.
    ///
    /// `others` are the messages that were handled lately.
    mutating func takeDue(_ now: Int64, _ others: TimeBins) -> HeldMessage? {
        guard !opened.isEmpty else { return nil }
        let message = opened[0].takeDue(now, others)
        resetPasses()
        return message
    }

    /// Called when a message that had its turn has ended.
    mutating func turnEnded(_ now: Int64) { if !opened.isEmpty { opened[0].turnEnded(now) } }
}
