/// Where a message belongs, digested once and used twice: by the deduplicator's keys and by the loop guard's.
///
/// Not finished yet: whoever uses it adds what makes the key theirs.
package struct ResourceDigest {
    /// What it was digested with.
    let secret: DedupeSecret
    /// The scope, and the bucket or the topic.
    let wide: KeyedDigest
    /// The same with the object, or with the sender of what was sent to a topic.
    let narrow: KeyedDigest

    /// Digests the place of a message; nil when it names neither bucket nor topic.
    init?(of storage: MessageStorage, _ secret: DedupeSecret) {
        let buffer = storage.buffer
        self.init(of: storage, buffer.span, secret)
    }

    /// The same with the message's text, for who has it at hand.
    @inline(__always)
    init?(of storage: MessageStorage, _ text: Span<UInt8>, _ secret: DedupeSecret) {
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
    /// What stands for it in digests.
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
