// One view a kind, so that a handler sees only what its kind can have. Each shares the message's buffer.

/// A Push to App: something happened in a bucket.
///
/// Bucket and object are optional, since a payload may leave the scope out. A route that asks for a bucket or an
/// object gives its handler a ``BucketEvent`` or an ``ObjectEvent`` instead, where they are not.
public struct PushToAppMessage: Sendable {
    /// The whole message.
    public let message: PushMessage

    /// Views a message as a Push to App; nil when it is none.
    public init?(_ message: PushMessage) {
        guard message.kind == .pushToApp else { return nil }
        self.message = message
    }

    /// What happened.
    public var event: KiiEvent? { message.event }
    /// The bucket, if scope and name are there.
    public var bucket: KiiBucket? { message.bucket }
    /// The object, if there is a bucket and an object id.
    public var object: KiiObject? { message.object }
    /// Who caused it; never known over APNs.
    public var sender: Sender? { message.sender }
}

/// A Push to App whose bucket is known: what a handler gets whose route asks for a bucket.
public struct BucketEvent: Sendable {
    /// The whole message.
    public let message: PushMessage
    // Kept, and not made like the rest when asked for: it is a part of most of what a handler reads.
    /// The bucket in which it happened.
    public let bucket: KiiBucket

    /// Views a message as an event in a bucket; nil when it names none.
    public init?(_ message: PushMessage) {
        guard message.storage.classified.hasBucket else { return nil }
        self.message = message
        bucket = message.storage.provenBucket
    }

    /// What happened.
    public var event: KiiEvent? { message.event }
    /// The bucket's scope.
    public var scope: KiiScope { bucket.scope }
    /// The object, if one is named; there is none when the bucket itself was deleted.
    public var object: KiiObject? {
        message.storage.classified.hasObject ? message.storage.provenObject(in: bucket) : nil
    }
    /// Who caused it; never known over APNs.
    public var sender: Sender? { message.sender }
}

/// A Push to App whose object is known: what a handler gets whose route asks for an object.
public struct ObjectEvent: Sendable {
    /// The whole message.
    public let message: PushMessage
    /// The bucket that holds the object.
    public let bucket: KiiBucket

    /// Views a message as an event of an object; nil when it names none.
    public init?(_ message: PushMessage) {
        guard message.storage.classified.hasObject else { return nil }
        self.message = message
        bucket = message.storage.provenBucket
    }

    /// What happened.
    public var event: KiiEvent? { message.event }
    /// The object to which it happened; of a deleted one only the id is left.
    public var object: KiiObject { message.storage.provenObject(in: bucket) }
    /// The bucket's scope.
    public var scope: KiiScope { bucket.scope }
    /// Who caused it; never known over APNs.
    public var sender: Sender? { message.sender }
}

/// A Push to User: someone sent a message to a topic.
public struct PushToUserMessage: Sendable {
    /// The whole message.
    public let message: PushMessage

    /// Views a message as a Push to User; nil when it is none.
    public init?(_ message: PushMessage) {
        guard message.kind == .pushToUser else { return nil }
        self.message = message
    }

    /// The topic, if its scope is there.
    public var topic: KiiTopic? { message.topic }
    /// Who sent it, unless the sender left that out.
    public var sender: Sender? { message.sender }
    /// What was sent.
    public var data: MessageData { message.data }
}

/// A Push to User whose topic is known: what a handler gets whose route asks for a topic.
public struct TopicMessage: Sendable {
    /// The whole message.
    public let message: PushMessage
    /// The topic that it was sent to.
    public let topic: KiiTopic

    /// Views a message as one sent to a topic; nil when it names none.
    public init?(_ message: PushMessage) {
        guard message.storage.classified.hasTopic else { return nil }
        self.message = message
        topic = message.storage.provenTopic
    }

    /// The topic's scope.
    public var scope: KiiScope { topic.scope }
    /// Who sent it, unless the sender left that out.
    public var sender: Sender? { message.sender }
    /// What was sent.
    public var data: MessageData { message.data }
}

/// A Direct Push: a message to this device's user, as administrators send them; also everything that is no Kii push.
///
/// Whoever may send to a topic can send one that looks the same, by suppressing Kii's keys. Only a `senderURI` names an
/// administrator, and Kii's servers add one over MQTT only; over other transports it may be a sender's own data.
public struct DirectPushMessage: Sendable {
    /// The whole message.
    public let message: PushMessage

    /// Views a message as a Direct Push; nil when it is none.
    public init?(_ message: PushMessage) {
        guard message.kind == .directPush else { return nil }
        self.message = message
    }

    /// Who sent it, as far as the payload says; an administrator only when `senderURI` says so.
    public var sender: Sender? { message.sender }
    /// What was sent.
    public var data: MessageData { message.data }

    /// The command, if it is one that Thing-IF sends to a thing.
    public var command: ThingCommand? {
        message.storage.body == .command ? ThingCommand(message.storage.member) : nil
    }

    /// The id of the command that this push says is completed, as Thing-IF tells the app that gave it.
    ///
    /// Such a push has nothing but the id, so one that an administrator made up looks the same.
    public var completedCommandID: String? {
        let isData = message.storage.body == .data && message.dialect.hasKiiKeys
        return isData && data.keys == [ThingCommand.Keys.id] ? data[ThingCommand.Keys.id]?.idText : nil
    }

    /// What it says, if it is a QuickBlox push.
    public var quickBlox: QuickBloxPush? {
        message.dialect == .quickBlox ? QuickBloxPush(message.storage.member, alert: message.aps?.alert) : nil
    }
}
