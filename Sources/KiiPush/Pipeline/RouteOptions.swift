/// How a route treats the messages that it takes, as far as it differs from the other routes.
///
/// Every method that registers a handler accepts it as `options:`. Without options, a route keeps a message from later
/// routes, and otherwise follows the settings of the receiver and of its service.
///
/// ```swift
/// receiver.onPushToUser(topic: "orders", options: RouteOptions(dedupe: .by(data: "orderID"))) { order, _ in
///     print(order.topic)
/// }
/// ```
public struct RouteOptions: Sendable, Hashable {
    /// Whether later routes may take the same message.
    public var flow: RouteFlow
    /// What the loop guard does for this route.
    public var loop: RouteLoopPolicy
    /// How a `PushService` delivers what the route takes; nil for the service's settings.
    ///
    /// ``DeliverySettings/maxAge`` counts without a service too.
    public var delivery: DeliverySettings?
    /// The id that identifies the messages that the route takes; nil leaves them their automatic keys.
    public var dedupe: RouteDedupe?

    /// The options of a route that states none.
    public static let standard = RouteOptions()

    /// Standard options, except that later routes may take the same message.
    public static let `continue` = RouteOptions(then: .continue)

    /// Sets the options that differ from ``standard``.
    ///
    /// - Parameters:
    ///   - flow: whether later routes may take the same message.
    ///   - loop: what the loop guard does for this route.
    ///   - delivery: how a `PushService` delivers what the route takes; nil for the service's settings.
    ///   - dedupe: the id that identifies the messages that the route takes; nil leaves them their automatic keys.
    public init(
        then flow: RouteFlow = .stop, loop: RouteLoopPolicy = .standard, delivery: DeliverySettings? = nil,
        dedupe: RouteDedupe? = nil
    ) {
        self.flow = flow
        self.loop = loop
        self.delivery = delivery
        self.dedupe = dedupe
    }
}
