/// What keeps messages in order by a text of your own, where none of ``DeliverySettings/Order`` does.
///
/// ```swift
/// var byDevice = DeliverySettings()
/// byDevice.orderKey = OrderKey { message in message.data["device"]?.string }
/// ```
///
/// Messages with the same text to the byte are handled one after another, whichever routes they go to.
public struct OrderKey: Sendable, Hashable {
    private final class Closure: Sendable {
        let text: @Sendable (PushMessage) -> String?

        init(_ text: @escaping @Sendable (PushMessage) -> String?) { self.text = text }
    }

    private let closure: Closure

    /// Makes a key.
    ///
    /// - Parameter text: gives the text of a message; nil for one that is in no order. It is called once for each
    ///   message that is taken in, where the transport's thread waits: keep it short. The text may be of any length,
    ///   and is not kept.
    public init(_ text: @escaping @Sendable (PushMessage) -> String?) { closure = Closure(text) }

    package func text(of message: PushMessage) -> String? { closure.text(message) }

    /// Whether both were made by one call.
    public static func == (one: OrderKey, other: OrderKey) -> Bool { one.closure === other.closure }

    /// Feeds what tells it from others.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(closure)) }
}
