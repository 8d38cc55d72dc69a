// How a breaker checks a key that it trusts, and withdraws its trust.

extension Suspicion {
    /// Compares arrivals with handled messages; returns whether they follow, or another pause is needed to decide.
    mutating func checkTrust(_ now: Int64) -> Bool {
        if let start = trust.comparedFrom { compare(since: start, now) } else { lookForLoop(now) }
    }

    /// Compares them while trust is provisional.
    private mutating func compare(since start: Int64, _ now: Int64) -> Bool {
        guard now >= trust.nextLook else { return false }
        trust.nextLook = now &+ .seconds(1)
        let following = record.following(since: start, now, dispersion: trust.dispersion)
        if following >= 7 {
            distrust(now)
            return true
        }
        guard now.since(trust.since) > .seconds(24) else { return false }
        if following < trust.provenBelow || trust.pace < 2 {
            prove(now)
            return false
        }
        if trust.isSecondPause { doubts.add(now) }
        trust.isSecondPause = true
        trust.pace = 0
        return true
    }

    private mutating func prove(_ now: Int64) {
        (trust.comparedFrom, trust.isProven) = (nil, true)
        // A loop in a stream of many keys is found by the breaker of its own key.
        if trust.parts.object == 0, !isPart {
            trust.check = TrustCheck(idle: evidence.idle, since: trust.since, foundShare: doubts.loopShare, now)
        }
        // So few messages are no proof.
        guard trust.pace >= 2 || trust.pace > 0 && backoff == 0, doubts.loopShare == nil else { return }
        forgiveAll()
    }

    /// Looks for a loop among the messages of a key whose trust is proven.
    private mutating func lookForLoop(_ now: Int64) -> Bool {
        guard isTrusted else { return false }
        switch trust.check?.look(at: record, dispersion: trust.dispersion, now) ?? .passes {
        case .passes: return false
        case .pauses(let end):
            phase = .pausing(until: end)
            return false
        case .isLoop(let share):
            doubts.addLoop(share: share)
            distrust(now)
            return true
        case .isNone:
            if doubts.loopShare != nil { forgiveAll() }
            return false
        }
    }

    private mutating func distrust(_ now: Int64) {
        doubts.addBreach()
        trust = Trust()
        doubts.add(now)
        doubts.add(now)
    }

    /// Forgets what earlier rounds showed: handling causes nothing.
    private mutating func forgiveAll() {
        backoff = 0
        doubts.clear()
        budget.release()
    }
}
