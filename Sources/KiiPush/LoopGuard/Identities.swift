/// This device's identities, prepared for comparison with a payload's sender.
package struct Identities {
    private struct Identity {
        let kind: Classified.SenderKind
        let id: String

        init(_ sender: Sender) {
            kind =
                switch sender {
                case .user: .user
                case .thing: .thing
                case .admin: .admin
                }
            id = sender.id
        }
    }

    /// The identities as they were given.
    let me: [Sender], writesAs: [Sender]
    private let own: [Identity]
    private let shared: [Identity]

    init(me: [Sender], writesAs: [Sender]) {
        self.me = me
        self.writesAs = writesAs
        own = me.map(Identity.init)
        shared = writesAs.map(Identity.init)
    }

    /// The id of the first identity.
    var first: String? { own.first?.id }

    /// Whether only this device can have sent the message.
    func isMe(_ message: PushMessage) -> Bool { Self.contains(own, message) }

    /// Who caused the message, as far as its sender and these identities say.
    func author(of message: PushMessage) -> OwnWrites.Author {
        if message.storage.classified.senderKind == .none || Self.contains(own, message)
            || Self.contains(shared, message)
        {
            return .own
        }
        return own.isEmpty && shared.isEmpty ? .unknown : .stranger
    }

    private static func contains(_ identities: [Identity], _ message: PushMessage) -> Bool {
        let classified = message.storage.classified
        guard !identities.isEmpty, classified.senderKind != .none else { return false }
        let buffer = message.storage.buffer
        let text = buffer.span
        return identities.contains { $0.kind == classified.senderKind && text.matches(classified.sender.range, $0.id) }
    }
}
