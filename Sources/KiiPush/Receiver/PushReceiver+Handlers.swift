// Registering handlers. Every argument but the id and the options is a condition. All of them must hold, and one that
// is left out asks for nothing. The handler's type says what the conditions guarantee: a route that asks for a bucket
// gets one that is not optional.

extension PushReceiver {
    /// Calls `handler` for each Push to App, whether or not its bucket is known.
    ///
    /// - Parameters:
    ///   - id: the route's id, unique in the receiver; one is made up when it is left out.
    ///   - scope: the scopes that it takes.
    ///   - events: the events that it takes.
    ///   - sender: the senders that it takes; APNs never names one.
    ///   - certainty: how sure the kind must be; ambiguous messages are taken only where it says so.
    ///   - data: conditions on the sender's own data.
    ///   - options: how the route treats what it takes.
    ///   - handler: called with the message; one that throws is the outcome ``Outcome/failed(_:)``.
    public func onPushToApp(
        _ id: String? = nil, scope: ScopePattern? = nil, events: [KiiEvent]? = nil, sender: SenderPattern? = nil,
        certainty: [Certainty] = [.certain, .likely], data: [DataCondition] = [],
        options: RouteOptions = .standard,
        handler: @escaping @Sendable (PushToAppMessage, HandlerContext) async throws -> Void
    ) {
        let criteria = RouteCriteria(
            kind: .pushToApp, scope: scope, events: events, sender: sender, certainty: certainty, data: data)
        add(id, criteria, options, .pushToApp(handler))
    }

    /// Calls `handler` for each Push to App about one of the buckets.
    ///
    /// - Parameters:
    ///   - id: the route's id, unique in the receiver; one is made up when it is left out.
    ///   - bucket: the names of the buckets; `*` in a name stands for any run of characters.
    ///   - scope: the scopes that it takes.
    ///   - events: the events that it takes.
    ///   - sender: the senders that it takes; APNs never names one.
    ///   - certainty: how sure the kind must be; ambiguous messages are taken only where it says so.
    ///   - data: conditions on the sender's own data.
    ///   - options: how the route treats what it takes.
    ///   - handler: called with the event; its bucket and scope are there.
    public func onPushToApp(
        _ id: String? = nil, bucket: TextPattern, scope: ScopePattern? = nil, events: [KiiEvent]? = nil,
        sender: SenderPattern? = nil, certainty: [Certainty] = [.certain, .likely], data: [DataCondition] = [],
        options: RouteOptions = .standard,
        handler: @escaping @Sendable (BucketEvent, HandlerContext) async throws -> Void
    ) {
        let criteria = RouteCriteria(
            kind: .pushToApp, bucket: bucket, scope: scope, events: events, sender: sender, certainty: certainty,
            data: data)
        add(id, criteria, options, .bucket(handler))
    }

    /// Calls `handler` for each Push to App about one of the objects.
    ///
    /// - Parameters:
    ///   - id: the route's id, unique in the receiver; one is made up when it is left out.
    ///   - bucket: the names of the buckets; `*` in a name stands for any run of characters.
    ///   - object: the ids of the objects; `*` asks only that there is one.
    ///   - scope: the scopes that it takes.
    ///   - events: the events that it takes.
    ///   - sender: the senders that it takes; APNs never names one.
    ///   - certainty: how sure the kind must be; ambiguous messages are taken only where it says so.
    ///   - data: conditions on the sender's own data.
    ///   - options: how the route treats what it takes.
    ///   - handler: called with the event; its object, bucket and scope are there.
    public func onPushToApp(
        _ id: String? = nil, bucket: TextPattern = .any, object: TextPattern, scope: ScopePattern? = nil,
        events: [KiiEvent]? = nil, sender: SenderPattern? = nil, certainty: [Certainty] = [.certain, .likely],
        data: [DataCondition] = [], options: RouteOptions = .standard,
        handler: @escaping @Sendable (ObjectEvent, HandlerContext) async throws -> Void
    ) {
        let criteria = RouteCriteria(
            kind: .pushToApp, bucket: bucket, object: object, scope: scope, events: events, sender: sender,
            certainty: certainty, data: data)
        add(id, criteria, options, .object(handler))
    }

    /// Calls `handler` for each Push to User, whether or not its topic's scope is known.
    ///
    /// - Parameters:
    ///   - id: the route's id, unique in the receiver; one is made up when it is left out.
    ///   - scope: the scopes that it takes.
    ///   - sender: the senders that it takes.
    ///   - certainty: how sure the kind must be; ambiguous messages are taken only where it says so.
    ///   - data: conditions on the sender's own data.
    ///   - options: how the route treats what it takes.
    ///   - handler: called with the message.
    public func onPushToUser(
        _ id: String? = nil, scope: ScopePattern? = nil, sender: SenderPattern? = nil,
        certainty: [Certainty] = [.certain, .likely], data: [DataCondition] = [],
        options: RouteOptions = .standard,
        handler: @escaping @Sendable (PushToUserMessage, HandlerContext) async throws -> Void
    ) {
        let criteria = RouteCriteria(kind: .pushToUser, scope: scope, sender: sender, certainty: certainty, data: data)
        add(id, criteria, options, .pushToUser(handler))
    }

    /// Calls `handler` for each Push to User that was sent to one of the topics.
    ///
    /// - Parameters:
    ///   - id: the route's id, unique in the receiver; one is made up when it is left out.
    ///   - topic: the names of the topics; `*` in a name stands for any run of characters.
    ///   - scope: the scopes that it takes.
    ///   - sender: the senders that it takes.
    ///   - certainty: how sure the kind must be; ambiguous messages are taken only where it says so.
    ///   - data: conditions on the sender's own data.
    ///   - options: how the route treats what it takes.
    ///   - handler: called with the message; its topic and scope are there.
    public func onPushToUser(
        _ id: String? = nil, topic: TextPattern, scope: ScopePattern? = nil, sender: SenderPattern? = nil,
        certainty: [Certainty] = [.certain, .likely], data: [DataCondition] = [],
        options: RouteOptions = .standard,
        handler: @escaping @Sendable (TopicMessage, HandlerContext) async throws -> Void
    ) {
        let criteria = RouteCriteria(
            kind: .pushToUser, topic: topic, scope: scope, sender: sender, certainty: certainty, data: data)
        add(id, criteria, options, .topic(handler))
    }

    /// Calls `handler` for each Direct Push.
    ///
    /// - Parameters:
    ///   - id: the route's id, unique in the receiver; one is made up when it is left out.
    ///   - sender: the senders that it takes; only MQTT names one.
    ///   - certainty: how sure the kind must be. A Direct Push is rarely more than likely: nothing in most of them says
    ///     what they are.
    ///   - data: conditions on the sender's own data.
    ///   - options: how the route treats what it takes.
    ///   - handler: called with the message.
    public func onDirectPush(
        _ id: String? = nil, sender: SenderPattern? = nil, certainty: [Certainty] = [.certain, .likely],
        data: [DataCondition] = [], options: RouteOptions = .standard,
        handler: @escaping @Sendable (DirectPushMessage, HandlerContext) async throws -> Void
    ) {
        let criteria = RouteCriteria(kind: .directPush, sender: sender, certainty: certainty, data: data)
        add(id, criteria, options, .directPush(handler))
    }

    /// Calls `handler` for each message of any kind; declared last, for whatever no other route takes.
    ///
    /// - Parameters:
    ///   - id: the route's id, unique in the receiver; one is made up when it is left out.
    ///   - scope: the scopes that it takes.
    ///   - sender: the senders that it takes.
    ///   - certainty: how sure the kind must be; ambiguous messages are taken only where it says so.
    ///   - data: conditions on the sender's own data.
    ///   - options: how the route treats what it takes.
    ///   - handler: called with the message.
    public func onAny(
        _ id: String? = nil, scope: ScopePattern? = nil, sender: SenderPattern? = nil,
        certainty: [Certainty] = [.certain, .likely], data: [DataCondition] = [],
        options: RouteOptions = .standard,
        handler: @escaping @Sendable (PushMessage, HandlerContext) async throws -> Void
    ) {
        add(
            id, RouteCriteria(scope: scope, sender: sender, certainty: certainty, data: data), options,
            .any(handler)
        )
    }

    func add(_ id: String?, _ criteria: RouteCriteria, _ options: RouteOptions, _ handler: RouteHandler) {
        add(id, criteria, options.flow, options.loop, options.delivery, options.dedupe, handler)
    }
}
