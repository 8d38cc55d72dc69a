/// How a route treats its messages, where it differs from other routes.
///
/// Every method that registers a handler accepts it as `options:`. Without options, a route stops later routes from
/// matching its messages, and otherwise follows the settings of the receiver and of its service.
public struct RouteOptions: Sendable, Hashable {
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

    /// Whether later routes may match the same message.
    public var flow: RouteFlow
    /// How fast messages of one object, sender or conversation are handled beyond 20 at once.
    public var pace: RoutePace
    /// What happens when a handler declares a write that would call its own route.
    public var ownBucket: OwnBucket
    /// How a `PushService` delivers the route's messages; nil for the service's settings.
    ///
    /// ``DeliverySettings/maxAge`` applies without a service too.
    public var delivery: DeliverySettings?
    /// The id that identifies the route's messages; nil leaves them their automatic keys.
    public var dedupe: RouteDedupe?
    /// The options of a route that is registered without any.
    public static let standard = RouteOptions()
    /// Standard options, except that later routes may match the same message.
    public static let `continue` = RouteOptions(then: .continue)

    /// Sets the options that differ from ``standard``.
    public init(
        then flow: RouteFlow = .stop, pace: RoutePace = .standard, ownBucket: OwnBucket = .warn,
        delivery: DeliverySettings? = nil, dedupe: RouteDedupe? = nil
    ) {
        self.flow = flow
        self.pace = pace
        self.ownBucket = ownBucket
        self.delivery = delivery
        self.dedupe = dedupe
    }
}

/// How fast a route handles messages of one object, sender or conversation, beyond 20 at once and an hour's allowance.
///
/// Traffic that comes by itself is paused once for some seconds, and then passes as fast as it comes. The pace is that
/// of messages which may be a loop's; see <doc:LoopSafety>.
public enum RoutePace: Sendable, Hashable {
    /// A message each 8 seconds of one object, of which the newest change replaces older ones; else each 2 seconds.
    case standard
    /// After the first 20, one message in this time, without an allowance.
    ///
    /// A time longer than a minute holds for traffic that comes by itself, too.
    case every(Duration)
    /// As fast as they come, and with as many declared writes: nothing ends a loop of the route but its lineage, or a
    /// kill switch.
    case unlimited
}
