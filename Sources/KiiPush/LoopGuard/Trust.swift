/// The trust in a key whose messages were shown to be caused elsewhere.
struct Trust {
    /// The measured pace, in messages a second; zero for no trust.
    var pace = 0.0
    /// The trusted paces of the narrower keys in it.
    var parts = PartPaces()
    var since: Int64 = .min
    var lastUsed: Int64 = .min
    /// Whether it was measured while the device handled next to nothing else that may cause messages.
    ///
    /// If not, handling other keys may cause its messages, and handling it theirs: then the wider breakers count what
    /// passes, until one of them has held all of these keys at once.
    var isIndependent = false
    /// Whether it looked like a stream of its own: at least half of the pace at opening continued while nothing was
    /// handled.
    ///
    /// If less continued, the rest may have been a loop: few of its messages are held, so hardly one is in a try. A
    /// part of a trusted wider stream does not count as a stream of its own.
    var isPlainStream = false
    /// Whether it is a part of a trusted wider stream, and most of its pace ended while nothing was handled.
    var isSuspect = false
    /// Since when arrivals are compared with handled messages; nil once that is decided.
    var comparedFrom: Int64?
    var nextLook: Int64 = .min
    /// Whether it paused a second time, because the first comparison was undecided.
    var isSecondPause = false
    /// Whether the comparison showed that handling causes nothing.
    var isProven = false
    /// Looks for a loop among its messages, once it is proven.
    var check: TrustCheck?
    /// How often such trust was breached; each breach reduces the margin above the pace.
    var breaches = 0
    /// How much more its messages vary than chance explains; see ``Dispersion``.
    var dispersion = 1.0

    /// The comparison proves that arrivals do not follow handled messages if the evidence that they do is below this.
    ///
    /// A slow stream seems to follow by chance: with 1 instead of 6, 47 of 300 streams of two messages a second paused
    /// once more; with 6, and since slow keys listen for longer, 6 of 1,000. It is 6 only if nothing else can explain
    /// the arrivals. A wide key's stream seems to follow a little, too. A loop that begins later in one of its narrower
    /// keys is detected by that key's own breaker, whose arrivals must not seem to follow at all.
    var provenBelow: Double {
        if isSuspect { return -4 }
        if isIndependent, isPlainStream, parts.object == 0 { return 6 }
        if isSecondPause { return 3 }
        return parts.object > 0 ? 5 : 1
    }

    /// Whether another message may pass: one and a half times the pace, plus a margin for chance and the limit, in the
    /// last 10 seconds and in the limit's window.
    ///
    /// The short window stops a loop from using up the long window at once. Trust that is not proven, or was breached
    /// before, also has a smaller limit for two seconds, which a fast loop reaches at once.
    func lets(_ passes: inout PassWindow, _ limit: RateLimit, _ now: Int64) -> Bool {
        guard passes.count(limit.slowSpan, now) < most(in: limit.slowSpan, limit.slowMessages),
            passes.count(since: now.since(.seconds(10))).count < most(in: .seconds(10), limit.messages)
        else { return false }
        guard !isProven || breaches > 0 else { return true }
        let usual = 2 * pace
        let most = Int(usual + chance(usual)) + max(limit.messages >> (breaches + 1), 4)
        return passes.count(since: now.since(.seconds(2))).count < most
    }

    private func most(in span: Int64, _ messages: Int) -> Int {
        let usual = pace * Double(span) / 1e9
        return Int(1.5 * usual + chance(usual)) + messages
    }

    /// The margin by which chance hardly exceeds the usual number.
    private func chance(_ usual: Double) -> Double { 4 * (dispersion * usual).squareRoot() }
}
