extension KeyedDigest {
    /// Digests the conversation of a message without an object, and without a topic and a sender: what a loop repeats.
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
    init(conversationOf message: PushMessage, _ secret: DedupeSecret) {
        let storage = message.storage
        if let place = ResourceDigest(of: storage, secret) {
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
            add(.sender, command.issuer ?? "")
            for action in command.actions {
                add(.alias, action.alias ?? "")
                add(.action, action.name)
            }
        } else if let foreign = storage.foreign {
            add(.foreign, foreign.format)
            add(.foreign, foreign.push.source ?? "")
            if let subject = foreign.push.subject {
                add(.topic, subject)
            } else if let type = foreign.push.type {
                add(.event, type)
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
        add(.sender, buffer.span, storage.classified.sender.range)
    }

    private mutating func add(typeOf storage: MessageStorage) {
        let buffer = storage.buffer
        add(.event, buffer.span, storage.fields[.type].range)
    }

    /// Adds the names of a sender's data, in any order.
    private mutating func add(namesOf data: MessageData, _ secret: DedupeSecret) {
        var sum: UInt64 = 0
        data.forEach { text, key, _ in
            var digest = KeyedDigest(secret)
            digest.add(.key, text, string: key)
            sum &+= digest.half
        }
        add(.names)
        add(sum)
    }
}
