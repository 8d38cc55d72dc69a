/// Something that handlers and listeners are registered with: a ``PushReceiver``, or an agent that has one.
///
/// Each method that registers a handler adds a route. Every argument but the id, the options and the handler is a
/// condition, and all given ones must hold. The handler's type reflects them: if a route has a condition on the bucket,
/// its bucket is non-optional.
///
/// - `id`: the route's id, unique in the receiver; generated if omitted.
/// - `bucket`, `topic`, `format`: the names that it matches; `*` in a name matches any run of characters.
/// - `object`: the ids of the objects; `*` matches any id.
/// - `scope`, `events`, `sender`: the scopes, events and senders that it matches; APNs never names the sender of a Push
///   to App.
/// - `mqtt`: the topics, and what else an MQTT broker says, that it matches.
/// - `certainty`: how certain the kind must be; include `ambiguous` to match ambiguous messages.
/// - `data`: conditions on the sender's own data.
/// - `options`: how the route treats matching messages.
/// - `handler`: called with the message; if it throws, the outcome is ``Outcome/failed(_:)``.
public protocol HandlerRegistry: AnyObject, Sendable {
    /// The receiver that calls the handlers.
    var receiver: PushReceiver { get }
}

extension PushReceiver: HandlerRegistry {
    /// Itself.
    public var receiver: PushReceiver { self }
}

extension HandlerRegistry {
    /// Calls `handler` for each Push to App, whether or not its bucket is known.
    public func onPushToApp(
        id: String? = nil, scope: ScopePattern? = nil, events: [KiiEvent]? = nil, sender: SenderPattern? = nil,
        certainty: [Certainty] = [.certain, .likely], data: [DataCondition] = [], options: RouteOptions = .standard,
        handler: @escaping @Sendable (PushToAppMessage, HandlerContext) async throws -> Void
    ) {
        let criteria = RouteCriteria(
            kind: .pushToApp, scope: scope, events: events, sender: sender, certainty: certainty, data: data)
        receiver.add(id, criteria, options, .pushToApp(handler))
    }

    /// Calls `handler` for each Push to App about one of the buckets.
    public func onPushToApp(
        id: String? = nil, bucket: TextPattern, scope: ScopePattern? = nil, events: [KiiEvent]? = nil,
        sender: SenderPattern? = nil, certainty: [Certainty] = [.certain, .likely], data: [DataCondition] = [],
        options: RouteOptions = .standard,
        handler: @escaping @Sendable (BucketEvent, HandlerContext) async throws -> Void
    ) {
        let criteria = RouteCriteria(
            kind: .pushToApp, bucket: bucket, scope: scope, events: events, sender: sender, certainty: certainty,
            data: data)
        receiver.add(id, criteria, options, .bucket(handler))
    }

    /// Calls `handler` for each Push to App about one of the objects.
    public func onPushToApp(
        id: String? = nil, bucket: TextPattern = .any, object: TextPattern, scope: ScopePattern? = nil,
        events: [KiiEvent]? = nil, sender: SenderPattern? = nil, certainty: [Certainty] = [.certain, .likely],
        data: [DataCondition] = [], options: RouteOptions = .standard,
        handler: @escaping @Sendable (ObjectEvent, HandlerContext) async throws -> Void
    ) {
        let criteria = RouteCriteria(
            kind: .pushToApp, bucket: bucket, object: object, scope: scope, events: events, sender: sender,
            certainty: certainty, data: data)
        receiver.add(id, criteria, options, .object(handler))
    }

    /// Calls `handler` for each Push to User, whether or not its topic's scope is known.
    public func onPushToUser(
        id: String? = nil, scope: ScopePattern? = nil, sender: SenderPattern? = nil,
        certainty: [Certainty] = [.certain, .likely], data: [DataCondition] = [], options: RouteOptions = .standard,
        handler: @escaping @Sendable (PushToUserMessage, HandlerContext) async throws -> Void
    ) {
        let criteria = RouteCriteria(kind: .pushToUser, scope: scope, sender: sender, certainty: certainty, data: data)
        receiver.add(id, criteria, options, .pushToUser(handler))
    }

    /// Calls `handler` for each Push to User that was sent to one of the topics.
    public func onPushToUser(
        id: String? = nil, topic: TextPattern, scope: ScopePattern? = nil, sender: SenderPattern? = nil,
        certainty: [Certainty] = [.certain, .likely], data: [DataCondition] = [], options: RouteOptions = .standard,
        handler: @escaping @Sendable (TopicMessage, HandlerContext) async throws -> Void
    ) {
        let criteria = RouteCriteria(
            kind: .pushToUser, topic: topic, scope: scope, sender: sender, certainty: certainty, data: data)
        receiver.add(id, criteria, options, .topic(handler))
    }

    /// Calls `handler` for each Direct Push.
    ///
    /// A payload may have the sender's bare id, which names a user or a thing; only a `senderURI` names an
    /// administrator, and Kii adds that only over MQTT. A Direct Push is rarely more than likely, since most of them do
    /// not name their kind.
    public func onDirectPush(
        id: String? = nil, sender: SenderPattern? = nil, certainty: [Certainty] = [.certain, .likely],
        mqtt: MQTTPattern? = nil, data: [DataCondition] = [], options: RouteOptions = .standard,
        handler: @escaping @Sendable (DirectPushMessage, HandlerContext) async throws -> Void
    ) {
        let criteria = RouteCriteria(kind: .directPush, sender: sender, mqtt: mqtt, certainty: certainty, data: data)
        receiver.add(id, criteria, options, .directPush(handler))
    }

    /// Calls `handler` when messages may have been lost for good; see ``Gap``.
    ///
    /// No pace limits gaps, and a gap of no single transport matches no condition on it. While the handler fails, new
    /// messages of the transport wait, at most until its last attempt.
    public func onGap(
        id: String? = nil, transport: TextPattern? = nil, options: RouteOptions = .standard,
        handler: @escaping @Sendable (Gap, HandlerContext) async throws -> Void
    ) {
        var criteria = RouteCriteria(certainty: Certainty.allCases)
        (criteria.isGap, criteria.transport) = (true, transport)
        var options = options
        options.pace = .unlimited
        receiver.add(id, criteria, options, .gap(handler))
    }

    /// Calls `handler` for each Direct Push that a ``PayloadFormat`` has claimed.
    ///
    /// ```swift
    /// receiver.onDirectPush(id: "events", format: "cloudevents", type: "com.example.*") { event, context in
    ///     print("  \(event.type ?? "?"): \(event.data)")
    /// }
    /// ```
    ///
    /// Without a `type`, it matches any type, and none. A payload that several formats claim is `ambiguous`. The
    /// conditions on the data are on what the format has read.
    public func onDirectPush(
        id: String? = nil, format: TextPattern, type: TextPattern? = nil,
        certainty: [Certainty] = [.certain, .likely], data: [DataCondition] = [], options: RouteOptions = .standard,
        handler: @escaping @Sendable (ForeignPushMessage, HandlerContext) async throws -> Void
    ) {
        var criteria = RouteCriteria(kind: .directPush, certainty: certainty, data: data)
        (criteria.format, criteria.type) = (format, type)
        receiver.add(id, criteria, options, .foreign(handler))
    }

    /// Calls `handler` for each command, and answers its sender: a Thing-IF command, or a Direct Push over MQTT 5 with
    /// a response topic.
    ///
    /// Each command that such a route matches gets exactly one answer: that of ``HandlerContext/answer(_:)``, else that
    /// it succeeded; if it fails for good or expires, that. Answers need a `PushService` with an ``AnswerSender``. By
    /// default a command may have any action, also that of an MQTT message, which nobody knows; one of Thing-IF has a
    /// ``DirectPushMessage/command``.
    public func onCommand(
        id: String? = nil, action: TextPattern = .any, mqtt: MQTTPattern? = nil, data: [DataCondition] = [],
        options: RouteOptions = .standard,
        handler: @escaping @Sendable (DirectPushMessage, HandlerContext) async throws -> Void
    ) {
        var criteria = RouteCriteria(kind: .directPush, mqtt: mqtt, data: data)
        criteria.command = action
        receiver.add(id, criteria, options, .directPush(handler))
    }

    /// Calls `handler` for each message of any kind; declare it last, for messages that no other route matches.
    public func onAny(
        id: String? = nil, scope: ScopePattern? = nil, sender: SenderPattern? = nil,
        certainty: [Certainty] = [.certain, .likely], data: [DataCondition] = [], options: RouteOptions = .standard,
        handler: @escaping @Sendable (PushMessage, HandlerContext) async throws -> Void
    ) {
        let criteria = RouteCriteria(scope: scope, sender: sender, certainty: certainty, data: data)
        receiver.add(id, criteria, options, .any(handler))
    }
}
