/// This device's identities, for comparison with a payload's sender.
struct Identities {
    let me: [Sender]
    let writesAs: [Sender]

    /// Whether only this device can have sent the message.
    func isMe(_ message: PushMessage) -> Bool { Self.contains(me, message) }

    /// Who caused the message, as far as its sender and these identities say.
    func author(of message: PushMessage) -> OwnWrites.Author {
        if message.storage.classified.senderKind == .none || Self.contains(me, message)
            || Self.contains(writesAs, message)
        {
            return .own
        }
        return me.isEmpty && writesAs.isEmpty ? .unknown : .stranger
    }

    private static func contains(_ identities: [Sender], _ message: PushMessage) -> Bool {
        let classified = message.storage.classified
        guard !identities.isEmpty, classified.senderKind != .none else { return false }
        let buffer = message.storage.buffer
        let text = buffer.span
        return identities.contains { $0.kind == classified.senderKind && text.matches(classified.sender.range, $0.id) }
    }
}
