/// A message of a kind, as handlers see it: only with what its kind can have, in the message's own buffer.
public protocol MessageView: Sendable, CustomStringConvertible {
    /// The whole message.
    var message: PushMessage { get }
}

extension MessageView {
    /// Who caused or sent it; nil if the payload does not say, as in Kii's samples of a Push to App over APNs.
    public var sender: Sender? { message.sender }
    /// The certainty of the message's kind.
    public var certainty: Certainty { message.certainty }
    /// When it was sent, in milliseconds since 1970.
    public var sentAt: Int64? { message.sentAt }
    /// The text that it shows to a person.
    public var alert: Alert? { message.alert }
    /// The message, on one line.
    public var description: String { message.description }
}

/// A Push to App: something happened in a bucket.
///
/// Bucket and object are optional, because a payload may omit the scope. A route for a bucket or an object gives its
/// handler a ``BucketEvent`` or an ``ObjectEvent`` instead, in which they are not.
public struct PushToAppMessage: MessageView {
    /// The whole message.
    public let message: PushMessage

    /// Views a message as a Push to App; nil if it is not one.
    public init?(_ message: PushMessage) {
        guard message.kind == .pushToApp else { return nil }
        self.message = message
    }

    /// What happened: the message's event.
    public var type: KiiEvent? { message.event }
    /// The bucket, if the payload states its scope and name.
    public var bucket: KiiBucket? { message.bucket }
    /// The object, if the message has a bucket and an object id.
    public var object: KiiObject? { message.object }
}

/// A Push to App whose bucket is known, for handlers of routes that require a bucket.
public struct BucketEvent: MessageView {
    /// The whole message.
    public let message: PushMessage
    // Stored, not made on demand like the rest: most properties use it.
    /// The bucket in which it happened.
    public let bucket: KiiBucket

    /// Views a message as an event in a bucket; nil if it names none.
    public init?(_ message: PushMessage) {
        guard let bucket = message.bucket else { return nil }
        (self.message, self.bucket) = (message, bucket)
    }

    /// What happened: the message's event.
    public var type: KiiEvent? { message.event }
    /// The bucket's scope.
    public var scope: KiiScope { bucket.scope }
    /// The object, if one is named; nil if the bucket itself was deleted.
    public var object: KiiObject? {
        guard message.storage.classified.hasObject else { return nil }
        return bucket.object(message.storage.string(message.storage.classified.object))
    }
}

/// A Push to App whose object is known, for handlers of routes that require an object.
public struct ObjectEvent: MessageView {
    /// The whole message.
    public let message: PushMessage
    /// The bucket that holds the object.
    public let bucket: KiiBucket

    /// Views a message as an event of an object; nil if it names none.
    public init?(_ message: PushMessage) {
        guard message.storage.classified.hasObject, let bucket = message.bucket else { return nil }
        (self.message, self.bucket) = (message, bucket)
    }

    /// What happened: the message's event.
    public var type: KiiEvent? { message.event }
    /// The object that the event is about; of a deleted object, only the id is left.
    public var object: KiiObject { bucket.object(message.storage.string(message.storage.classified.object)) }
    /// The bucket's scope.
    public var scope: KiiScope { bucket.scope }
}

/// A Push to User: someone sent a message to a topic.
public struct PushToUserMessage: MessageView {
    /// The whole message.
    public let message: PushMessage

    /// Views a message as a Push to User; nil if it is not one.
    public init?(_ message: PushMessage) {
        guard message.kind == .pushToUser else { return nil }
        self.message = message
    }

    /// The topic; nil if its sender left it out, or if the payload does not state its scope.
    public var topic: KiiTopic? { message.topic }
    /// What was sent.
    public var data: MessageData { message.data }
}

/// A Push to User whose topic is known, for handlers of routes that require a topic.
public struct TopicMessage: MessageView {
    /// The whole message.
    public let message: PushMessage
    /// The topic that it was sent to.
    public let topic: KiiTopic

    /// Views a message as one sent to a topic; nil if it names none.
    public init?(_ message: PushMessage) {
        guard let topic = message.topic else { return nil }
        (self.message, self.topic) = (message, topic)
    }

    /// The topic's scope.
    public var scope: KiiScope { topic.scope }
    /// What was sent.
    public var data: MessageData { message.data }
}

/// A Direct Push: a message of an administrator to this device's user; also every payload that is not a Kii push.
///
/// Anyone who may send to a topic can send a message that looks the same, by suppressing all of Kii's keys. Only a
/// `senderURI` names an administrator, and Kii's servers add it only over MQTT; over other transports it may be a
/// sender's own data.
public struct DirectPushMessage: MessageView {
    /// The whole message.
    public let message: PushMessage

    /// Views a message as a Direct Push; nil if it is not one.
    public init?(_ message: PushMessage) {
        guard message.kind == .directPush else { return nil }
        self.message = message
    }

    /// What was sent.
    public var data: MessageData { message.data }

    /// Its contents, if it is a QuickBlox push.
    public var quickBlox: QuickBloxPush? {
        guard message.format == QuickBloxFormat.name else { return nil }
        return QuickBloxPush(message.storage.member, alert: message.aps?.alert)
    }

    /// The command, if it is one that Thing-IF sends to a thing.
    public var command: ThingCommand? {
        message.storage.isCommand ? ThingCommand(message.storage.member) : nil
    }

    /// The id of the completed command, if this is the push by which Thing-IF notifies the command's sender.
    ///
    /// Such a push contains only the id, so an administrator can send one that looks the same.
    public var completedCommandID: String? {
        let isData = !message.storage.isCommand && message.dialect.hasKiiKeys
        return isData && data.keys == [ThingCommand.Keys.id] ? data[ThingCommand.Keys.id]?.idText : nil
    }
}
