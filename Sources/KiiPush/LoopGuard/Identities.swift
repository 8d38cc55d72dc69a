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

    /// Whether this device can have caused the message: it names no sender, or an identity that this device writes as.
    func mayHaveWritten(_ message: PushMessage) -> Bool {
        message.storage.classified.senderKind == .none || Self.contains(own, message) || Self.contains(shared, message)
    }

    /// Whether the message names a sender that this device does not write as; false if the device has no identities.
    func isStranger(_ message: PushMessage) -> Bool {
        !(own.isEmpty && shared.isEmpty) && !mayHaveWritten(message)
    }

    private static func contains(_ identities: [Identity], _ message: PushMessage) -> Bool {
        let classified = message.storage.classified
        guard !identities.isEmpty, classified.senderKind != .none else { return false }
        let buffer = message.storage.buffer
        let text = buffer.span
        return identities.contains { $0.kind == classified.senderKind && text.matches(classified.sender.range, $0.id) }
    }
}
