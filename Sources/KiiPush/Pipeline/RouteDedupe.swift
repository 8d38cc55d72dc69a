/// Identifies the messages of a route by an id that their sender puts into the data.
///
/// ```swift
/// receiver.onPushToUser(topic: "orders", options: RouteOptions(dedupe: .by(data: "orderID"))) { order, _ in
///     print(order.topic.name)
/// }
/// ```
///
/// Two messages of the route with the same id are the same message, whatever else differs; messages with different ids
/// are different, even if all else is equal. A message without the id, and every ambiguous one, has its automatic keys;
/// see ``PushMessage/dedupeKeys(app:secret:)``.
///
/// An id is compared only among messages of one route, kind, app, scope, bucket or topic, and sender. So nobody can
/// suppress another sender's messages by using their ids first. The price: if one transport names the sender and
/// another does not, two copies of a message are not recognised as duplicates.
///
/// If several routes match a message, the first one decides.
public struct RouteDedupe: Sendable, Hashable {
    /// The root key of the data whose value is the id.
    package let key: String
    /// The prefix of the key in a rules file.
    package static let prefix = "data."

    /// The field as a rules file names it, such as `data.messageId`.
    package var field: String { Self.prefix + key }

    /// Identifies messages by the value of a root key of their data: a non-empty string, or a number.
    ///
    /// A number and the string of the same text are one id, since FCM makes every value a string. Ids are compared by
    /// their text, also numbers: `17` and `17.0` are two. A wrong match loses a message; a missed one handles it twice.
    public static func by(data key: String) -> RouteDedupe { RouteDedupe(key: key) }

    /// The id of a message; nil if it has none, or is ambiguous.
    package func id(of message: PushMessage) -> String? {
        guard message.certainty != .ambiguous else { return nil }
        switch message.data[key] {
        case .string(let text)?, .number(let text)?: return text.isEmpty ? nil : text
        case .bool?, .null?, .array?, .object?, nil: return nil
        }
    }
}

extension PushMessage {
    /// The keys of the message by its id for the first of its routes, else its automatic ones.
    func dedupeKeys(
        for routes: MatchedRoutes, _ app: String?, _ secret: DedupeSecret, at place: ResourceDigest?
    ) -> DedupeKeys {
        if let first = routes.first, let keys = dedupeKeys(of: first, app, secret, at: place) { return keys }
        return dedupeKeys(app, secret, at: place)
    }

    /// The keys of the message by its id for a route; nil if the route has no ``RouteDedupe``, or the message no id.
    // Out of line: few routes have one.
    func dedupeKeys(of route: Route, _ app: String?, _ secret: DedupeSecret, at place: ResourceDigest?) -> DedupeKeys? {
        guard let dedupe = route.options.dedupe, let id = dedupe.id(of: self) else { return nil }
        let classified = storage.classified
        let buffer = storage.buffer
        var digest = place?.wide ?? KeyedDigest(secret)
        digest.add(.routeID, UInt64(kind.tableIndex))
        digest.add(route.digest.first)
        digest.add(route.digest.second)
        if place == nil {
            digest.add(UInt64(classified.scopeKind.number))
            digest.add(.scopeID, buffer.span, classified.scopeID.range)
        }
        addApp(app, &digest)
        // Only MQTT says whether a user or a thing sent it; an administrator's name is not an id of either.
        digest.add(classified.senderKind == .admin ? 1 : 0)
        digest.add(.sender, buffer.span, classified.sender.range)
        digest.add(.key, dedupe.key)
        digest.add(.scalar, id)
        return DedupeKeys(primary: digest.finish(), strength: .strong)
    }
}
