/// What the layers of a ``LoopGuard`` look for, and where they draw the line.
///
/// The defaults suit objects that people and devices change now and then. A bucket that is written several times a
/// second by honest work needs a higher ``rate``, for all routes here or for one in ``RouteLoopPolicy``.
public struct LoopSettings: Sendable, Hashable {
    /// The layers that are on.
    public var layers: Set<LoopLayer>

    /// How many messages of one object, topic and sender may pass, and what happens beyond.
    public var rate: LoopRate

    /// How many handlers a message or an object may have come from, one behind the other; one more is cut.
    public var hops: Int

    /// For how long an announced write waits for its event, at most; see ``OwnWrite`` for what else ends the wait.
    public var echo: Duration

    /// 20 messages in 10 seconds, 8 hops, 60 seconds of echo, all layers on.
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

/// How often a route may handle messages of one key before its breaker opens.
///
/// Two breakers count each message that a route lets pass. The narrow one counts per object, else per topic and
/// sender, else per bucket, else per sender, and opens beyond ``messages`` in ``per``. The wide one counts per bucket or
/// topic, and opens beyond 100 times as many in 60 times as long: it ends a loop that makes a new object each time.
public struct LoopRate: Sendable, Hashable {
    /// How many messages of one key pass in ``per``; the next one opens the breaker and is held.
    ///
    /// Up to 256 are counted to the nanosecond; of more, times count in steps of 1/256 of ``per``.
    public var messages: Int

    /// The span in which they are counted.
    public var per: Duration

    /// How long an open breaker holds everything before it tries one message; doubled each time that fails, up to an
    /// hour.
    public var coolDown: Duration

    /// 20 messages in 10 seconds; 60 seconds of cool-down.
    public static let standard = LoopRate()

    /// Sets the numbers; fewer than one message counts as one, and a negative time as none.
    public init(messages: Int = 20, per: Duration = .seconds(10), coolDown: Duration = .seconds(60)) {
        self.messages = max(messages, 1)
        self.per = max(per, .zero)
        self.coolDown = max(coolDown, .zero)
    }

    /// How many messages of one bucket or topic pass in ``widePer``.
    public var wideMessages: Int { messages.multipliedReportingOverflow(by: 100).overflow ? .max : messages * 100 }

    /// The span in which those are counted, at most 292 years.
    public var widePer: Duration { per.inNanoseconds > Int64.max / 60 ? .nanoseconds(Int64.max) : per * 60 }

    /// The longest that a cool-down grows to.
    public static let longestCoolDown = Duration.seconds(3600)
}

/// What the loop guard does for one route, where it should not do the same as for all.
public struct RouteLoopPolicy: Sendable, Hashable {
    /// What happens when a handler announces a write that its own route would be called for.
    public enum OwnBucket: String, Sendable, Hashable, CaseIterable {
        /// It is reported to ``LoopGuard/onRisk(_:)``, and goes on.
        case warn
        /// It is reported, and the announcement throws ``LoopRefusal``; the message ends as `looped` (`ownBucket`).
        case refuse
        /// It goes on, for a handler that is known to come to an end.
        case allow
    }

    /// How often a route may handle messages of one key.
    public enum Rate: Sendable, Hashable {
        /// As the guard's settings say.
        case guards
        /// As often as this.
        case own(LoopRate)
        /// As often as they come.
        case unlimited
    }

    /// What happens when a handler announces a write that its own route would be called for.
    public var ownBucket: OwnBucket

    /// How often the route may handle messages of one key.
    public var rate: Rate

    /// Warn of own writes; the guard's rate.
    public static let standard = RouteLoopPolicy()

    /// Sets the policy.
    public init(ownBucket: OwnBucket = .warn, rate: Rate = .guards) {
        self.ownBucket = ownBucket
        self.rate = rate
    }
}
