// The numbers of the guard's paces, each with its reason; times are seconds.

extension Pace {
    /// How many of a key are handled at once: what one action of a person causes.
    static let burst = 20.0
    /// The floor of an object: its newest change waits for a pause and one such time, at most 17 seconds.
    static let objectEvery = 8.0
    /// The floor of all other keys: 1,800 an hour; 30 that wait are late by a minute.
    static let letterEvery = 2.0
    /// What passes of letters beyond the floor within an hour and may be a loop's: with floor and burst, 2,690.
    static let letterAllowance = 870.0
    /// A third of that for an object, whose floor is slower, too: with floor and burst, 760.
    static let objectAllowance = letterAllowance / 3
    /// What passes within an hour, unless long pauses show that it comes by itself: about one a second.
    static let hourly = 3700.0
    /// How many new keys are handled at once: what one action of a person causes may be about a hundred objects.
    static let newKeyBurst = 120.0
    /// What passes of new keys beyond the floor within an hour.
    static let newKeyAllowance = hourly - hour / letterEvery
    /// How much the clocks of devices differ, and also the times at which they hear of something.
    static let apart = 0.5
    /// How much later than here another device may handle or hear a message, by its clock and by what it hears: so long
    /// after its beginning, a key that has not paused joins a pause.
    static let joined = 2 * apart
    /// The longest round trip of a usual loop: 3 s for a write, its push and the network, and what devices differ.
    static let roundTrip = 3 + apart + joined
    /// The longest round trip that is proved not to be a loop's: a slow cellular network.
    static let longRoundTrip = 15.0
    /// How long an object's arrivals are counted after that: it may wait for 17, and clocks differ.
    static let objectWindow = 1.4
    /// The same for letters, twice that in a long pause: clusters that come each few seconds are heard.
    ///
    /// So pauses begin each 10.5 or 24.5 s, and clusters each 5, 10, 20 or 60 s do not stay in step with them.
    static let letterWindow = 3.5
    /// How much the beginnings of pauses vary, so that little regular traffic stays in step with them.
    static let spread = 2.0
    /// How much faster than heard a key may go on, so that it catches up.
    static let growth = 1.1
    /// What part of honest messages a loop may add to them: so long it may go on at their pace when they have ended.
    static let added = 0.25
    /// How long an unused rate counts, and is saved: the pause between two clusters.
    static let kept = 60.0
    /// How long after a pause has begun an object's newest change may still pass in advance: timers are late.
    static let margin = 0.005
    static let hour = 3600.0

    /// How many pauses a day has at most, for the longest ones, those of letters.
    static func pausesOfDay(isLong: Bool) -> Double {
        (24 * hour / (Limits.letters().length(isLong: isLong) + spread)).rounded(.down)
    }

    /// The numbers of one kind of key.
    struct Limits {
        let burst: Double
        let every: Double
        let allowance: Double
        /// How many may pass within an hour by the rates of short pauses, or since nothing came while others waited.
        let proofs: Double
        /// Whether the newest replaces the others, since it says the same.
        let newestWins: Bool

        private init(
            burst: Double = Pace.burst, every: Double, allowance: Double, newestWins: Bool = false,
            provesAtOnce: Bool = false
        ) {
            self.burst = burst
            self.every = max(every, 1e-9)
            self.allowance = allowance
            let floor = Pace.hour / self.every
            // At least what catches up needs, or a route with a fast pace of its own would have long pauses alone.
            let proofs = max(Pace.hourly - floor - burst - allowance, floor * (Pace.growth - 1))
            self.proofs = provesAtOnce ? .infinity : proofs
            self.newestWins = newestWins
        }

        static func roundTrip(isLong: Bool) -> Double { isLong ? Pace.longRoundTrip : Pace.roundTrip }

        /// How long arrivals are counted in a pause.
        func window(isLong: Bool) -> Double { newestWins ? Pace.objectWindow : Pace.letterWindow * (isLong ? 2 : 1) }

        /// How long a pause is; at its end, the pauses of devices whose clocks are ahead have ended.
        func length(isLong: Bool) -> Double { Self.roundTrip(isLong: isLong) + window(isLong: isLong) + Pace.apart }

        /// Those of an object; a route with a pace of its own has no allowance.
        static func objects(every: Double? = nil) -> Limits {
            Limits(
                every: every ?? Pace.objectEvery, allowance: every == nil ? Pace.objectAllowance : 0, newestWins: true)
        }

        /// Those of any other key.
        static func letters(every: Double? = nil) -> Limits {
            Limits(every: every ?? Pace.letterEvery, allowance: every == nil ? Pace.letterAllowance : 0)
        }

        /// Those of new keys, together: many at once must not wait for long, and short pauses prove their rate.
        static func newKeys(every: Double = Pace.letterEvery) -> Limits {
            Limits(burst: Pace.newKeyBurst, every: every, allowance: Pace.newKeyAllowance, provesAtOnce: true)
        }
    }
}
