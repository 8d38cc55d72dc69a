/// An ordering key of your own, for messages that no ``DeliverySettings/Order`` keeps in order.
///
/// ```swift
/// var byDevice = DeliverySettings()
/// byDevice.orderKey = OrderKey { message in message.data["device"]?.string }
/// ```
///
/// Messages with the same text, to the byte, are handled one after another, whichever routes they match.
public struct OrderKey: Sendable, Hashable {
    private final class Closure: Sendable {
        let text: @Sendable (PushMessage) -> String?

        init(_ text: @escaping @Sendable (PushMessage) -> String?) { self.text = text }
    }

    private let closure: Closure

    /// Makes a key of a function that returns the text of a message, or nil for one that is not ordered.
    ///
    /// It is called once for each accepted message, while the transport waits: keep it fast.
    public init(_ text: @escaping @Sendable (PushMessage) -> String?) { closure = Closure(text) }

    package func text(of message: PushMessage) -> String? { closure.text(message) }

    /// Whether both come from the same call of the initialiser.
    public static func == (one: OrderKey, other: OrderKey) -> Bool { one.closure === other.closure }

    /// Hashes the key's identity.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(closure)) }
}
