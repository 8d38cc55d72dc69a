/// A digest of a message's resource, made once for the deduplicator and the loop guard, which add further parts.
package struct ResourceDigest {
    let secret: DedupeSecret
    /// The scope, and the bucket or the topic.
    let wide: KeyedDigest
    /// The same with the object, or with the sender of a message to a topic.
    let narrow: KeyedDigest

    /// Digests the resource of a message; nil if it names neither bucket nor topic.
    init?(of storage: MessageStorage, _ secret: DedupeSecret) {
        let buffer = storage.buffer
        let text = buffer.span
        let classified = storage.classified
        guard classified.bucket.isPresent || classified.topic.isPresent else { return nil }
        self.secret = secret
        var digest = KeyedDigest(secret)
        if classified.scopeKind == .unknown {
            digest.add(.scopeType, text, storage.fields[.scopeType].range)
        } else {
            digest.add(UInt64(classified.scopeKind.number))
        }
        digest.add(.scopeID, text, classified.scopeID.range)
        if classified.bucket.isPresent {
            digest.add(.bucket, text, classified.bucket.range)
            wide = digest
            digest.add(.object, text, classified.object.range)
        } else {
            digest.add(.topic, text, classified.topic.range)
            wide = digest
            digest.add(UInt64(classified.senderKind.rawValue))
            digest.add(.sender, text, classified.sender.range)
        }
        narrow = digest
    }
}

extension MessageScope.Kind {
    var number: UInt8 {
        switch self {
        case .unknown: 0
        case .app: 1
        case .user: 2
        case .group: 3
        case .thing: 4
        }
    }
}

/// A key of 128 bits for an object, a bucket or a topic, alone or together with a route.
package struct ResourceKey: Sendable, Hashable {
    package let digest: DedupeKey
    package init(digest: DedupeKey) { self.digest = digest }

    init?(objectOf message: PushMessage, _ secret: DedupeSecret) {
        guard message.storage.classified.hasObject, let place = ResourceDigest(of: message.storage, secret) else {
            return nil
        }
        digest = place.narrow.finish()
    }

    /// An object, by the key that its messages have.
    init(_ object: KiiObject, _ secret: DedupeSecret) {
        let scope = object.bucket.scope
        var digest = KeyedDigest(secret)
        digest.add(UInt64(scope.kind.number))
        digest.add(.scopeID, scope.id ?? "")
        digest.add(.bucket, object.bucket.name)
        digest.add(.object, object.id)
        self.digest = digest.finish()
    }
}

// These are the same in every process: they identify lanes, shares and dead letters.
extension ResourceKey {
    /// The object of a message, or the subject of one of a format; nil if it has neither.
    package init?(ofItsObject message: PushMessage) {
        if let foreign = message.storage.foreign {
            guard let subject = foreign.push.subject else { return nil }
            self.init(foreign, subject: subject)
        } else {
            self.init(objectOf: message, .published)
        }
    }

    package init?(topicOf message: PushMessage) {
        guard message.storage.classified.hasTopic, let place = ResourceDigest(of: message.storage, .published) else {
            return nil
        }
        digest = place.wide.finish()
    }

    /// The bucket or topic of a message, or the source of one of a format, else its sender; nil if it has none.
    package init?(groupOf message: PushMessage) {
        if let foreign = message.storage.foreign, foreign.push.source != nil {
            self.init(foreign, subject: "")
        } else if let place = ResourceDigest(of: message.storage, .published) {
            self.init(digest: place.wide.finish())
        } else {
            self.init(senderOf: message)
        }
    }

    package init?(senderOf message: PushMessage) {
        let classified = message.storage.classified
        guard classified.sender.isPresent else { return nil }
        let buffer = message.storage.buffer
        self.init { digest in
            digest.add(UInt64(classified.senderKind.rawValue))
            digest.add(PlacePart.sender, buffer.span, classified.sender.range)
        }
    }

    /// The MQTT topic of a message; nil if it has none, and for commands, which Kii sends to one topic for all.
    package init?(mqttTopicOf message: PushMessage) {
        guard let topic = message.storage.mqtt?.topic, !message.storage.isCommand else { return nil }
        self.init { $0.add(PlacePart.mqttTopic, topic) }
    }

    package init(own text: String) { self.init { $0.add(PlacePart.own, text) } }

    private init(_ foreign: ForeignContent, subject: String) {
        self.init { digest in
            digest.add(PlacePart.format, foreign.format)
            digest.add(PlacePart.source, foreign.push.source ?? "")
            digest.add(PlacePart.subject, subject)
        }
    }

    private init(_ addParts: (inout KeyedDigest) -> Void) {
        var digest = KeyedDigest(.published)
        addParts(&digest)
        self.digest = digest.finish()
    }
}

/// The meanings of the parts of a key that names no bucket or topic of Kii; their numbers are on the devices' disks.
private enum PlacePart {
    static let sender: UInt8 = 4
    static let own: UInt8 = 6
    static let format: UInt8 = 7
    static let source: UInt8 = 8
    static let subject: UInt8 = 9
    static let mqttTopic: UInt8 = 10
}
