/// This device's identities, for comparison with a payload's sender.
package struct Identities: Sendable {
    package let me: [Sender]
    package let writesAs: [Sender]

    /// Whether only this device can have sent the message.
    func isMe(_ message: PushMessage) -> Bool { message.isSent(by: me) }

    /// Who caused the message, as far as its sender and these identities say.
    func author(of message: PushMessage) -> OwnWrites.Author {
        let namesNobody = message.storage.classified.senderKind == .none
        if namesNobody || message.isSent(by: me) || message.isSent(by: writesAs) { return .own }
        return me.isEmpty && writesAs.isEmpty ? .unknown : .stranger
    }
}

extension PushMessage {
    fileprivate func isSent(by identities: [Sender]) -> Bool {
        let classified = storage.classified
        guard !identities.isEmpty, classified.senderKind != .none else { return false }
        let buffer = storage.buffer
        let text = buffer.span
        return identities.contains { $0.kind == classified.senderKind && text.matches(classified.sender.range, $0.id) }
    }
}
