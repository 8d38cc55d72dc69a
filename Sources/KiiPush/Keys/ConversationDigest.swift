/// The rate keys of a message without an object, and without a topic and a sender: the parts that a loop repeats.
///
/// It must not contain a part that is new in each message, such as a command id, a time or a call's session, or no
/// breaker would ever count to two. Nor may it join unrelated messages of different sources, or one client's traffic
/// would be held because of another's.
///
/// | message | ``narrow`` | ``wide`` |
/// |---|---|---|
/// | bucket event without an object | bucket, event and sender | bucket |
/// | Push to User without a sender | topic, type and names of the data | topic |
/// | command of Thing-IF | issuer, and names of its actions | issuer |
/// | QuickBlox push | chat, else caller, else user | all of them |
/// | other Direct Push | sender, type and names of the data | sender |
///
/// A slider that sends forty commands has one key, like a loop that it starts; another control has another key.
struct ConversationDigest {
    /// The conversation.
    let narrow: UInt64
    /// All conversations of the same source.
    let wide: UInt64

    /// Digests the conversation of a message; `place` is its resource's digest, if it has one.
    // Not inlined: nearly every message has an object, or a topic and a sender, and would pay for the set-up.
    @inline(never)
    init(of message: PushMessage, at place: ResourceDigest?, _ secret: DedupeSecret) {
        let direct = DirectPushMessage(message)
        let (narrow, wide): (KeyedDigest, KeyedDigest) =
            if let place {
                Self.digests(of: message, place)
            } else if let command = direct?.command {
                Self.digests(of: command, secret)
            } else if let quickBlox = direct?.quickBlox {
                Self.digests(of: quickBlox, secret)
            } else {
                Self.digests(ofData: message, secret)
            }
        self.narrow = narrow.half
        self.wide = wide.half
    }

    /// The digests of a message that names a bucket or a topic, but no object or sender; or whose scope is incomplete.
    private static func digests(of message: PushMessage, _ place: ResourceDigest) -> (KeyedDigest, KeyedDigest) {
        let classified = message.storage.classified
        let isComplete = classified.bucket.isPresent ? classified.object.isPresent : classified.senderKind != .none
        if isComplete { return (place.narrow, place.wide) }
        var narrow = place.narrow
        if classified.bucket.isPresent { narrow.add(senderOf: message.storage) }
        narrow.add(typeOf: message.storage)
        if classified.topic.isPresent { narrow.add(namesOf: message.data, place.secret) }
        return (narrow, place.wide)
    }

    private static func digests(of command: ThingCommand, _ secret: DedupeSecret) -> (KeyedDigest, KeyedDigest) {
        var wide = KeyedDigest(secret)
        wide.add(Part.issuer, command.issuer ?? "")
        var narrow = wide
        for action in command.actions {
            narrow.add(Part.alias, action.alias ?? "")
            narrow.add(Part.action, action.name)
        }
        return (narrow, wide)
    }

    private static func digests(of push: QuickBloxPush, _ secret: DedupeSecret) -> (KeyedDigest, KeyedDigest) {
        var wide = KeyedDigest(secret)
        wide.add(UInt64(Part.quickBlox) << 56)
        var narrow = wide
        if let dialog = push.dialogID {
            narrow.add(Part.dialog, dialog)
        } else if let caller = push.call?.participants.first {
            narrow.add(Part.caller, caller)
        } else if let user = push.userID {
            narrow.add(Part.user, user)
        }
        return (narrow, wide)
    }

    private static func digests(ofData message: PushMessage, _ secret: DedupeSecret) -> (KeyedDigest, KeyedDigest) {
        var wide = KeyedDigest(secret)
        wide.add(senderOf: message.storage)
        var narrow = wide
        narrow.add(typeOf: message.storage)
        narrow.add(namesOf: message.data, secret)
        return (narrow, wide)
    }

    /// The meanings of the parts, so that equal bytes in another part make another key; different from ``KeyPart``'s.
    fileprivate enum Part {
        static let issuer: UInt8 = 64
        static let alias: UInt8 = 65
        static let action: UInt8 = 66
        static let quickBlox: UInt8 = 67
        static let dialog: UInt8 = 68
        static let caller: UInt8 = 69
        static let user: UInt8 = 70
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
