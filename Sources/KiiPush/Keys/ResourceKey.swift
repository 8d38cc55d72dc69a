/// A key of 128 bits for an object, a bucket or a topic, alone or together with a route.
package struct ResourceKey: Sendable, Hashable {
    package let digest: DedupeKey
    package init(digest: DedupeKey) { self.digest = digest }

    private init(_ secret: DedupeSecret = .published, _ addParts: (inout KeyedDigest) -> Void) {
        var digest = KeyedDigest(secret)
        addParts(&digest)
        self.digest = digest.finish()
    }

    package init(objectOf message: PushMessage, _ secret: DedupeSecret) {
        let buffer = message.storage.buffer
        let classified = message.storage.classified
        self.init(secret) { digest in
            digest.add(scopeOf: classified, buffer.span)
            digest.add(PlacePart.bucket, buffer.span, classified.bucket.range)
            digest.add(PlacePart.object, buffer.span, classified.object.range)
        }
    }

    package init(_ object: KiiObject, _ secret: DedupeSecret) {
        let scope = object.bucket.scope
        self.init(secret) { digest in
            digest.add(UInt64(scope.kind.number))
            digest.add(PlacePart.scope, scope.id ?? "")
            digest.add(PlacePart.bucket, object.bucket.name)
            digest.add(PlacePart.object, object.id)
        }
    }
}

// These are the same in every process: they identify lanes, shares and dead letters.
extension ResourceKey {
    package init(own text: String) { self.init { $0.add(PlacePart.own, text) } }

    /// The object of a message, or the subject of one of a format; nil if it has neither.
    package init?(ofItsObject message: PushMessage) {
        if let foreign = message.storage.foreign {
            guard let subject = foreign.push.subject else { return nil }
            self.init(foreign, subject: subject)
        } else {
            guard message.storage.classified.hasObject else { return nil }
            self.init(objectOf: message, .published)
        }
    }

    /// The topic of a message in its scope; nil if it has none.
    package init?(topicOf message: PushMessage) {
        let classified = message.storage.classified
        guard classified.hasTopic else { return nil }
        let buffer = message.storage.buffer
        self.init { digest in
            digest.add(scopeOf: classified, buffer.span)
            digest.add(PlacePart.topic, buffer.span, classified.topic.range)
        }
    }

    /// The MQTT topic of a message; nil if it has none, and for commands, which Kii sends to one topic for all.
    package init?(mqttTopicOf message: PushMessage) {
        guard let topic = message.storage.mqtt?.topic, !message.storage.isCommand else { return nil }
        self.init { $0.add(PlacePart.mqttTopic, topic) }
    }

    /// The sender of a message; nil if it names none.
    package init?(senderOf message: PushMessage) {
        let classified = message.storage.classified
        guard classified.sender.isPresent else { return nil }
        let buffer = message.storage.buffer
        self.init { digest in
            digest.add(UInt64(classified.senderKind.rawValue))
            digest.add(PlacePart.sender, buffer.span, classified.sender.range)
        }
    }

    private init(_ foreign: ForeignContent, subject: String) {
        self.init { digest in
            digest.add(PlacePart.format, foreign.format)
            digest.add(PlacePart.source, foreign.push.source ?? "")
            digest.add(PlacePart.subject, subject)
        }
    }

    /// The bucket or topic of a message, or the source of one of a format, or else its sender; nil if it has none of
    /// them.
    package init?(groupOf message: PushMessage) {
        if let foreign = message.storage.foreign, foreign.push.source != nil {
            self.init(foreign, subject: "")
        } else if let place = ResourceDigest(of: message.storage, .published) {
            self.init(digest: place.wide.finish())
        } else {
            self.init(senderOf: message)
        }
    }
}

/// The meanings of the parts of a key, so that equal bytes in another part make another key.
private enum PlacePart {
    static let bucket: UInt8 = 1
    static let object: UInt8 = 2
    static let topic: UInt8 = 3
    static let sender: UInt8 = 4
    static let scope: UInt8 = 5
    static let own: UInt8 = 6
    static let format: UInt8 = 7
    static let source: UInt8 = 8
    static let subject: UInt8 = 9
    static let mqttTopic: UInt8 = 10
}

extension KeyedDigest {
    fileprivate mutating func add(scopeOf classified: Classified, _ text: Span<UInt8>) {
        add(UInt64(classified.scopeKind.number))
        add(PlacePart.scope, text, classified.scopeID.range)
    }
}
