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
            digest.add(KeyPart.scopeType, text, storage.fields[.scopeType].range)
        } else {
            digest.add(UInt64(classified.scopeKind.number))
        }
        digest.add(KeyPart.scopeID, text, classified.scopeID.range)
        if classified.bucket.isPresent {
            digest.add(KeyPart.bucket, text, classified.bucket.range)
            wide = digest
            digest.add(KeyPart.object, text, classified.object.range)
        } else {
            digest.add(KeyPart.topic, text, classified.topic.range)
            wide = digest
            digest.add(UInt64(classified.senderKind.rawValue))
            digest.add(KeyPart.sender, text, classified.sender.range)
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
