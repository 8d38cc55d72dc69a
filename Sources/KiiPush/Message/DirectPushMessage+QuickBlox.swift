extension DirectPushMessage {
    /// Its contents, if it is a QuickBlox push.
    public var quickBlox: QuickBloxPush? {
        guard message.storage.foreign?.format == QuickBloxFormat.name else { return nil }
        return QuickBloxPush(message.storage.member, alert: message.aps?.alert)
    }
}
