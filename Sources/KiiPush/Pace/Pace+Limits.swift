// The numbers of the guard's paces, each with its reason.

extension Pace {
    /// How many of a key are handled at once, and tried together: what one action of a person causes.
    static let burst = 20.0
    /// The floor of an object, in seconds: 600 an hour; with the burst and the failed tries, a loop has less than 800.
    static let objectEvery = 6.0
    /// The floor of letters, in seconds: 2,400 an hour; 40 that wait are late by a minute.
    static let letterEvery = 1.5
    /// How many of new keys a route handles at once; a device twice as many: three keys' bursts.
    static let newKeys = 60.0
    /// The floor of new keys, in seconds: 2,880 an hour.
    static let newKeyEvery = 1.25
    /// What a floor and its budget let pass in an hour; with the burst of a device less than 4,500.
    static let hourly = 4400.0
    /// The longest round trip of a usual loop, in seconds: a write, its push, and the network between.
    static let roundTrip = 3.1
    /// The longest round trip that is proved not to be a loop's, in seconds: a slow cellular network.
    static let longRoundTrip = 15.0
    /// How long arrivals are counted after a round trip, in seconds: two a second are 10, enough to tell a pace; with
    /// the round trip, eight seconds.
    static let window = 4.9
    /// The same where the newest must not be later than 17 s, or others wait: three arrivals of two a second.
    static let shortWindow = 1.4
    /// The same after a long round trip: three arrivals of two a second, so that their pace is not taken for less.
    static let longWindow = 1.5
    /// How long after a round trip the next try begins, in seconds: what a try's own handlers take.
    static let margin = 0.9
    /// How much faster than heard a key may go on, so that it catches up.
    static let growth = 1.25
    /// By how much arrivals may become fewer while nothing is handled: chance alone seldom halves twenty.
    static let decline = 2.0
    /// How long an unused pace counts, in seconds: a device's pause between two uses.
    static let quiet = 600.0
    /// How often the pace of an object may be raised within an hour: chance seldom does it twice.
    static let mostRaises = 3
    /// At which multiples of so many seconds failed objects are listened to again, so that all devices pause together.
    static let checks = 24.0
    /// What a message costs that was tried in vain, or of a doubted object: 180 in an hour use up the budget.
    static let costOfFailure = 21.0

    static let hour = 3600.0
    static let tick = 0.000_001

    /// The numbers of one kind of key.
    struct Limits {
        let burst: Double
        let every: Double
        /// Whether the newest replaces the others, since it says the same.
        var newestWins = false
        /// Whether it limits many keys, which must not wait long: then the first listening proves a pace.
        var provesAtOnce = false
        let budget: Double
        private let ends: (short: Double, long: Double)

        init(burst: Double = Pace.burst, every: Double, window: (Double, Double) = (Pace.window, Pace.window)) {
            self.burst = burst
            self.every = max(every, 1e-9)
            budget = max(Pace.hourly - Pace.hour / self.every, 0)
            ends = window
        }

        func window(isLong: Bool) -> Double { isLong ? ends.long : ends.short }

        func length(isLong: Bool) -> Double {
            isLong ? Pace.longRoundTrip + ends.long : Pace.roundTrip + ends.short
        }

        /// Those of an object, by default.
        static func objects(every: Double = Pace.objectEvery) -> Limits {
            var limits = Limits(every: every, window: (Pace.window, Pace.longWindow))
            limits.newestWins = true
            return limits
        }

        /// Those of any other key, by default.
        static func letters(every: Double = Pace.letterEvery) -> Limits { Limits(every: every) }

        /// Those of the new keys of a route, by default.
        static func route(every: Double = Pace.newKeyEvery) -> Limits { newKeys(burst: Pace.newKeys, every) }

        /// Those of the new keys of all routes with the standard pace.
        static let device = newKeys(burst: Pace.newKeys * 2, Pace.newKeyEvery)

        private static func newKeys(burst: Double, _ every: Double) -> Limits {
            var limits = Limits(burst: burst, every: every, window: (Pace.shortWindow, Pace.shortWindow))
            limits.provesAtOnce = true
            return limits
        }
    }
}
