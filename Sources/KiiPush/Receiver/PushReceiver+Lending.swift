// Registering handlers that borrow: one method for all kinds, since what such a handler gets is not typed by the kind.

extension PushReceiver {
    /// Lends each message that meets the conditions to `handler`, which does not wait.
    ///
    /// For handlers that run for many messages and keep nothing of most of them; see ``LentEvent``. In a
    /// ``ReceiveLoop`` such a message takes no memory from the heap.
    ///
    /// - Parameters:
    ///   - id: the route's id, unique in the receiver; one is made up when it is left out.
    ///   - kind: the kind that it takes; nil takes all.
    ///   - bucket: the names of the buckets; `*` in a name stands for any run of characters.
    ///   - object: the ids of the objects; `*` asks only that there is one.
    ///   - topic: the names of the topics.
    ///   - scope: the scopes that it takes.
    ///   - events: the events that it takes.
    ///   - sender: the senders that it takes; APNs never names one.
    ///   - certainty: how sure the kind must be; ambiguous messages are taken only where it says so.
    ///   - data: conditions on the sender's own data.
    ///   - options: how the route treats what it takes.
    ///   - handler: called with the event; one that throws is the outcome ``Outcome/failed(_:)``.
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
    ///   - id: the route's id, unique in the receiver; one is made up when it is left out.
    ///   - kind: the kind that it takes; nil takes all.
    ///   - bucket: the names of the buckets; `*` in a name stands for any run of characters.
    ///   - object: the ids of the objects; `*` asks only that there is one.
    ///   - topic: the names of the topics.
    ///   - scope: the scopes that it takes.
    ///   - events: the events that it takes.
    ///   - sender: the senders that it takes; APNs never names one.
    ///   - certainty: how sure the kind must be; ambiguous messages are taken only where it says so.
    ///   - data: conditions on the sender's own data.
    ///   - options: how the route treats what it takes.
    ///   - handler: called with the event, which is lent until it returns; one that throws is the outcome
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
