/// How a route treats its messages, where it differs from other routes.
///
/// Every method that registers a handler accepts it as `options:`. Without options, a route stops later routes from
/// matching its messages, and otherwise follows the settings of the receiver and of its service.
///
/// ```swift
/// receiver.onPushToUser(topic: "orders", options: RouteOptions(dedupe: .by(data: "orderID"))) { order, _ in
///     print(order.topic)
/// }
/// ```
public struct RouteOptions: Sendable, Hashable {
    /// Whether later routes may match the same message.
    public var flow: RouteFlow
    /// What the loop guard does for this route.
    public var loop: RouteLoopPolicy
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
    ///
    /// - Parameters:
    ///   - flow: whether later routes may match the same message.
    ///   - loop: what the loop guard does for this route.
    ///   - delivery: how a `PushService` delivers the route's messages; nil for the service's settings.
    ///   - dedupe: the id that identifies the route's messages; nil leaves them their automatic keys.
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
