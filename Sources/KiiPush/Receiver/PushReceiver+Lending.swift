// Registering handlers that borrow: all kinds share these methods, since a lent event has the same type for each kind.

extension PushReceiver {
    /// Lends each message that meets the conditions to `handler`, which does not wait.
    ///
    /// Use it for handlers that run for many messages and keep nothing of most of them; see ``LentEvent``. In a
    /// ``ReceiveLoop``, such a message needs no heap allocation.
    ///
    /// - Parameters:
    ///   - id: the route's id, unique in the receiver; generated if omitted.
    ///   - kind: the kind that it matches; nil matches all.
    ///   - bucket: the names of the buckets; `*` in a name matches any run of characters.
    ///   - object: the ids of the objects; `*` matches any id.
    ///   - topic: the names of the topics.
    ///   - scope: the scopes that it matches.
    ///   - events: the events that it matches.
    ///   - sender: the senders that it matches; a payload need not name one, and Kii's samples of a Push to App over
    ///     APNs do not.
    ///   - certainty: how certain the kind must be; include `ambiguous` to match ambiguous messages.
    ///   - data: conditions on the sender's own data.
    ///   - options: how the route treats matching messages.
    ///   - handler: called with the event; if it throws, the outcome is ``Outcome/failed(_:)``.
    public func onLent(
        _ id: String? = nil, kind: PushKind? = nil, bucket: TextPattern? = nil, object: TextPattern? = nil,
        topic: TextPattern? = nil, scope: ScopePattern? = nil, events: [KiiEvent]? = nil,
        sender: SenderPattern? = nil, certainty: [Certainty] = [.certain, .likely], data: [DataCondition] = [],
        options: RouteOptions = .standard, handler: @escaping @Sendable (borrowing LentEvent) throws -> Void
    ) {
        let criteria = RouteCriteria(
            kind: kind, bucket: bucket, object: object, topic: topic, scope: scope, events: events, sender: sender,
            certainty: certainty, data: data)
        add(id, criteria, options, .lent(handler))
    }

    /// Lends each message that meets the conditions to `handler`, which may wait.
    ///
    /// - Parameters:
    ///   - id: the route's id, unique in the receiver; generated if omitted.
    ///   - kind: the kind that it matches; nil matches all.
    ///   - bucket: the names of the buckets; `*` in a name matches any run of characters.
    ///   - object: the ids of the objects; `*` matches any id.
    ///   - topic: the names of the topics.
    ///   - scope: the scopes that it matches.
    ///   - events: the events that it matches.
    ///   - sender: the senders that it matches; a payload need not name one, and Kii's samples of a Push to App over
    ///     APNs do not.
    ///   - certainty: how certain the kind must be; include `ambiguous` to match ambiguous messages.
    ///   - data: conditions on the sender's own data.
    ///   - options: how the route treats matching messages.
    ///   - handler: called with the event, which is lent until it returns; if it throws, the outcome is
    ///     ``Outcome/failed(_:)``.
    public func onLent(
        _ id: String? = nil, kind: PushKind? = nil, bucket: TextPattern? = nil, object: TextPattern? = nil,
        topic: TextPattern? = nil, scope: ScopePattern? = nil, events: [KiiEvent]? = nil,
        sender: SenderPattern? = nil, certainty: [Certainty] = [.certain, .likely], data: [DataCondition] = [],
        options: RouteOptions = .standard,
        handler: @escaping @Sendable (borrowing LentEvent) async throws -> Void
    ) {
        let criteria = RouteCriteria(
            kind: kind, bucket: bucket, object: object, topic: topic, scope: scope, events: events, sender: sender,
            certainty: certainty, data: data)
        add(id, criteria, options, .lentWaiting(handler))
    }
}
