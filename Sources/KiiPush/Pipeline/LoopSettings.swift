/// The layers of a ``LoopGuard``, and their limits.
///
/// The defaults suit busy and quiet devices: legitimate traffic that exceeds the ``rate`` is delayed once, by seconds.
/// Give a route that must never be delayed another rate in ``RouteLoopPolicy``.
public struct LoopSettings: Sendable, Hashable {
    /// The layers that are on.
    public var layers: Set<LoopLayer>

    /// How many messages of one key may pass, and for how long further ones wait.
    public var rate: LoopRate

    /// How many handlers a message or an object may have passed through, one after another; beyond that it is dropped.
    public var hops: Int

    /// How long an expected write waits for its event, at most; ``OwnWrite`` says what else ends the wait.
    public var echo: Duration

    /// The standard rate, 8 hops, 60 seconds of echo, all layers on.
    public static let standard = LoopSettings()

    /// Sets the numbers.
    public init(
        layers: Set<LoopLayer> = Set(LoopLayer.allCases), rate: LoopRate = .standard, hops: Int = 8,
        echo: Duration = .seconds(60)
    ) {
        self.layers = layers
        self.rate = rate
        self.hops = hops
        self.echo = echo
    }

    /// The same with one layer off.
    public func without(_ layer: LoopLayer) -> LoopSettings {
        var settings = self
        settings.layers.remove(layer)
        return settings
    }
}

/// How often a route may handle messages of one key before a breaker opens and looks for the cause.
///
/// An open breaker drops nothing: it holds the key's messages for a few seconds and tests whether handling them causes
/// more; see ``LoopGuard``. So the limits may be small: they are the number of messages of a loop that are handled
/// before the guard reacts. Four breakers count each message that a route may handle: that of the object, else of the
/// topic and sender, else of the conversation; that of the bucket or topic; that of the route; and that of the device.
/// Traffic that a breaker has found to be caused elsewhere is not counted by the wider ones.
public struct LoopRate: Sendable, Hashable {
    /// A number of messages in a window of time.
    public struct Limit: Sendable, Hashable {
        /// How many messages pass; the next one opens the breaker and is held.
        public var messages: Int
        /// The window in which they are counted.
        public var window: Duration

        /// Sets both; fewer than one message counts as one, and a negative time as none.
        public init(messages: Int, window: Duration) {
            self.messages = max(messages, 1)
            self.window = max(window, .zero)
        }
    }

    /// How many messages of one key pass in ``window``; the next one opens the breaker and is held.
    ///
    /// Up to 256 are counted to the nanosecond; beyond that, times are counted in steps of 1/256 of the window.
    public var messages: Int

    /// The window in which they are counted.
    public var window: Duration

    /// How many messages of one key pass in a longer window, to detect slower loops; nil for no such limit.
    public var sustained: Limit?

    /// How long a key waits after a loop was detected; doubled each time that the loop continues, up to an hour.
    public var coolDown: Duration

    /// 20 messages in 10 seconds and 22 in 30; a first wait of 2 seconds.
    public static let standard = LoopRate(sustained: Limit(messages: 22, window: .seconds(30)))

    /// Sets the numbers; fewer than one message counts as one, and a negative time as none.
    ///
    /// - Parameters:
    ///   - messages: how many messages of one key pass in `window`.
    ///   - window: the window in which they are counted.
    ///   - sustained: how many pass in a longer window; by default no such limit.
    ///   - coolDown: how long a key waits after it was found to be a loop.
    public init(
        messages: Int = 20, window: Duration = .seconds(10), sustained: Limit? = nil, coolDown: Duration = .seconds(2)
    ) {
        self.messages = max(messages, 1)
        self.window = max(window, .zero)
        self.sustained = sustained
        self.coolDown = max(coolDown, .zero)
    }

    /// How many messages of one bucket or topic pass: 200 in 5 minutes; for a rate of your own without ``sustained``,
    /// 100 times its messages in 60 times as long.
    public var ofBucket: Limit { wider(10, 30, own: 100) }

    /// How many messages of one route pass: 400 in 10 minutes, or 200 times its messages in 60 times as long.
    public var ofRoute: Limit { wider(20, 60, own: 200) }

    /// How many messages of all routes pass: 800 in 20 minutes, or 400 times its messages in 60 times as long.
    public var ofDevice: Limit { wider(40, 120, own: 400) }

    private func wider(_ factor: Int, _ times: Int, own: Int) -> Limit {
        let (factor, times) = sustained == nil ? (own, 60) : (factor, times)
        let (product, overflow) = messages.multipliedReportingOverflow(by: factor)
        let span = window.inNanoseconds > Int64.max / Int64(times) ? .nanoseconds(Int64.max) : window * times
        return Limit(messages: overflow ? .max : product, window: span)
    }

    /// The longest wait.
    public static let longestCoolDown = Duration.seconds(3600)
}

/// How the loop guard treats one route, if not by the guard's settings.
public struct RouteLoopPolicy: Sendable, Hashable {
    /// What happens when a handler declares a write that would call its own route.
    @nonexhaustive
    public enum OwnBucket: String, Sendable, Hashable, CaseIterable {
        /// It is reported to ``LoopGuard/onRisk(_:)``, and the write continues.
        case warn
        /// It is reported, and the declaration throws ``LoopRefusal``; the message ends as `looped` (`ownBucket`).
        case refuse
        /// The write continues, for a handler that is known to terminate.
        case allow
    }

    /// How often a route may handle messages of one key.
    public enum Rate: Sendable, Hashable {
        /// The limit of the guard's settings.
        case guards
        /// This limit.
        case own(LoopRate)
        /// No limit.
        case unlimited
    }

    /// What happens when a handler declares a write that would call its own route.
    public var ownBucket: OwnBucket

    /// How often the route may handle messages of one key.
    public var rate: Rate

    /// Reports such writes, and uses the guard's rate.
    public static let standard = RouteLoopPolicy()

    /// Sets the policy.
    public init(ownBucket: OwnBucket = .warn, rate: Rate = .guards) {
        self.ownBucket = ownBucket
        self.rate = rate
    }
}
