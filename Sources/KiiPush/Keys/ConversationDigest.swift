extension KeyedDigest {
    /// Digests the conversation of a message without an object, and without a topic and a sender: the parts that a loop
    /// repeats.
    ///
    /// | message | its conversation |
    /// |---|---|
    /// | bucket event without an object | bucket, event and sender |
    /// | Push to User without a sender | topic, type and names of the data |
    /// | command of Thing-IF | issuer, and names of its actions |
    /// | push of a format | source and subject; type, unless it has a subject |
    /// | other Direct Push | sender, type and names of the data |
    ///
    /// Not in it is what is new in each message, such as a command id, a time or a call's session, or no two messages
    /// would have one pace. The source is, so that one client does not wait because of another's traffic.
    init(conversationOf message: PushMessage, at place: ResourceDigest?, _ secret: DedupeSecret) {
        let storage = message.storage
        if let place {
            // It names a bucket or a topic, but no object or sender; or its scope is incomplete.
            let classified = storage.classified
            self = place.narrow
            if classified.bucket.isPresent ? classified.object.isPresent : classified.senderKind != .none { return }
            if classified.bucket.isPresent { add(senderOf: storage) }
            add(typeOf: storage)
            if classified.topic.isPresent { add(namesOf: message.data, secret) }
            return
        }
        self.init(secret)
        if let command = DirectPushMessage(message)?.command {
            add(ConversationPart.issuer, command.issuer ?? "")
            for action in command.actions {
                add(ConversationPart.alias, action.alias ?? "")
                add(ConversationPart.action, action.name)
            }
        } else if let foreign = storage.foreign {
            add(ConversationPart.format, foreign.format)
            add(ConversationPart.source, foreign.push.source ?? "")
            if let subject = foreign.push.subject {
                add(ConversationPart.subject, subject)
            } else if let type = foreign.push.type {
                add(ConversationPart.type, type)
            }
        } else {
            add(senderOf: storage)
            add(typeOf: storage)
            add(namesOf: message.data, secret)
        }
    }

    private mutating func add(senderOf storage: MessageStorage) {
        let buffer = storage.buffer
        add(UInt64(storage.classified.senderKind.rawValue))
        add(KeyPart.sender, buffer.span, storage.classified.sender.range)
    }

    private mutating func add(typeOf storage: MessageStorage) {
        let buffer = storage.buffer
        add(KeyPart.event, buffer.span, storage.fields[.type].range)
    }

    /// Adds the names of a sender's data, in any order.
    private mutating func add(namesOf data: MessageData, _ secret: DedupeSecret) {
        var sum: UInt64 = 0
        data.forEach { text, key, _ in
            var digest = KeyedDigest(secret)
            digest.add(KeyPart.key, text, string: key)
            sum &+= digest.half
        }
        add(UInt64(ConversationPart.names) << 56)
        add(sum)
    }
}

/// The meanings of the parts, so that equal bytes in another part make another key; different from ``KeyPart``'s.
private enum ConversationPart {
    static let issuer: UInt8 = 64
    static let alias: UInt8 = 65
    static let action: UInt8 = 66
    static let format: UInt8 = 67
    static let source: UInt8 = 68
    static let subject: UInt8 = 69
    static let type: UInt8 = 70
    static let names: UInt8 = 71
}
