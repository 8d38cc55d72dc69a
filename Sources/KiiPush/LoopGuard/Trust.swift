/// What a key is trusted with, once its messages were shown to be caused by nobody here.
struct Trust {
    /// The pace that was measured, in messages a second; none where it is zero.
    var pace = 0.0
    /// What is trusted of the narrower keys that have their part in it.
    var parts = PartPaces()
    var since: Int64 = .min
    var lastUsed: Int64 = .min
    /// Whether it was measured while the device handled next to nothing else that may cause messages.
    ///
    /// If not, they may be caused by the handling of other keys, which in turn are caused by this one: then the wider
    /// breakers count what passes, until one of them has held all of these keys at once.
    var isIndependent = false
    /// Whether it looked like a stream of its own: at least half of the pace at which the breaker opened went on while
    /// nothing was handled.
    ///
    /// If less did, the rest may have been a loop: few of its messages are held, so hardly one is in a try. A part of a
    /// wider stream that is trusted is none of its own.
    var isPlainStream = false
    /// Whether it is a part of a wider stream that is trusted, and most of its pace ended when nothing was handled.
    var isSuspect = false
    /// From when on arrivals are compared with what was handled; nil when that is decided.
    var comparedFrom: Int64?
    var nextLook: Int64 = .min
    /// Whether it paused a second time, since the first comparison told too little.
    var isSecondPause = false
    /// Whether the comparison showed that nothing is caused here.
    var isProven = false
    /// How often such trust was broken; each time leaves less room beside the pace.
    var breaches = 0
    /// How much more its messages vary than by chance; see ``Dispersion``.
    var dispersion = 1.0

    /// Below how much evidence that arrivals follow what was handled the comparison shows that they do not.
    ///
    /// A slow stream seems to follow by chance: with 1 in place of 5, 47 of 300 streams of two messages a second paused
    /// once more, and with 5 five of them. It is 5 only where nothing else may explain what came. A wide key's stream
    /// seems to follow a little, too; a loop that begins later in one of its narrower keys is found by that key's own
    /// breaker: that one must not seem to follow at all.
    var provenBelow: Double {
        if isSuspect { return -4 }
        if isIndependent, isPlainStream, parts.object == 0 { return 5 }
        if isSecondPause { return 3 }
        return parts.object > 0 ? 3.5 : 1
    }

    /// Whether one more may pass: the pace, with room for chance and half as much again, lately and in a limit's span.
    ///
    /// Lately, too: what a long span lets pass would else be a loop's all at once. Trust that is not proven, or was
    /// broken before, has less room, and in two seconds: a fast loop fills that at once.
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

    /// By how many messages chance hardly exceeds so many.
    private func chance(_ usual: Double) -> Double { 4 * (dispersion * usual).squareRoot() }
}
