/// The conversation of a message without an object, and without a topic and a sender: the parts that a loop repeats.
///
/// It must not contain a part that is new in each message, such as a command id, a time or a call's session, or no
/// two messages would have one pace. Nor may it join unrelated messages of different sources, or one client's traffic
/// would wait because of another's.
///
/// | message | its conversation |
/// |---|---|
/// | bucket event without an object | bucket, event and sender |
/// | Push to User without a sender | topic, type and names of the data |
/// | command of Thing-IF | issuer, and names of its actions |
/// | push of a format | source and subject; type, unless it has a subject |
/// | other Direct Push | sender, type and names of the data |
///
/// A slider that sends forty commands has one key, like a loop that it starts; another control has another key.
struct ConversationDigest {
    let digest: UInt64

    init(of message: PushMessage, at place: ResourceDigest?, _ secret: DedupeSecret) {
        let direct = DirectPushMessage(message)
        let digest =
            if let place {
                Self.digest(of: message, place)
            } else if let command = direct?.command {
                Self.digest(of: command, secret)
            } else if let foreign = message.storage.foreign {
                Self.digest(of: foreign, secret)
            } else {
                Self.digest(ofData: message, secret)
            }
        self.digest = digest.half
    }

    /// The digest of a message that names a bucket or a topic, but no object or sender; or whose scope is incomplete.
    private static func digest(of message: PushMessage, _ place: ResourceDigest) -> KeyedDigest {
        let classified = message.storage.classified
        let isComplete = classified.bucket.isPresent ? classified.object.isPresent : classified.senderKind != .none
        if isComplete { return place.narrow }
        var digest = place.narrow
        if classified.bucket.isPresent { digest.add(senderOf: message.storage) }
        digest.add(typeOf: message.storage)
        if classified.topic.isPresent { digest.add(namesOf: message.data, place.secret) }
        return digest
    }

    private static func digest(of command: ThingCommand, _ secret: DedupeSecret) -> KeyedDigest {
        var digest = KeyedDigest(secret)
        digest.add(Part.issuer, command.issuer ?? "")
        for action in command.actions {
            digest.add(Part.alias, action.alias ?? "")
            digest.add(Part.action, action.name)
        }
        return digest
    }

    private static func digest(of foreign: ForeignContent, _ secret: DedupeSecret) -> KeyedDigest {
        var digest = KeyedDigest(secret)
        digest.add(Part.format, foreign.format)
        digest.add(Part.source, foreign.push.source ?? "")
        if let subject = foreign.push.subject {
            digest.add(Part.subject, subject)
        } else if let type = foreign.push.type {
            digest.add(Part.type, type)
        }
        return digest
    }

    private static func digest(ofData message: PushMessage, _ secret: DedupeSecret) -> KeyedDigest {
        var digest = KeyedDigest(secret)
        digest.add(senderOf: message.storage)
        digest.add(typeOf: message.storage)
        digest.add(namesOf: message.data, secret)
        return digest
    }

    /// The meanings of the parts, so that equal bytes in another part make another key; different from ``KeyPart``'s.
    fileprivate enum Part {
        static let issuer: UInt8 = 64
        static let alias: UInt8 = 65
        static let action: UInt8 = 66
        static let format: UInt8 = 67
        static let source: UInt8 = 68
        static let subject: UInt8 = 69
        static let type: UInt8 = 70
        static let names: UInt8 = 71
    }
}

extension KeyedDigest {
    fileprivate mutating func add(senderOf storage: MessageStorage) {
        let buffer = storage.buffer
        add(UInt64(storage.classified.senderKind.rawValue))
        add(KeyPart.sender, buffer.span, storage.classified.sender.range)
    }

    fileprivate mutating func add(typeOf storage: MessageStorage) {
        let buffer = storage.buffer
        add(KeyPart.event, buffer.span, storage.fields[.type].range)
    }

    /// Adds the names of a sender's data, in any order.
    fileprivate mutating func add(namesOf data: MessageData, _ secret: DedupeSecret) {
        var sum: UInt64 = 0
        data.forEach { text, key, _ in
            var digest = KeyedDigest(secret)
            digest.add(KeyPart.key, text, string: key)
            sum &+= digest.half
        }
        add(UInt64(ConversationDigest.Part.names) << 56)
        add(sum)
    }
}
