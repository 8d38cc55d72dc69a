package import KiiPush

extension TestReceiver {
    /// Sets a wall clock that nobody has set to the time at which a payload says that it was sent.
    ///
    /// Call it just before the payload is sent: then the messages of a test or a corpus have the ages that they had
    /// beside each other, whatever the year is in which it runs.
    package func startWallClock(with payload: RawPayload) {
        guard clock.wallNow == nil, let sentAt = (try? PushMessage(payload))?.sentAt else { return }
        clock.wallNow = sentAt
    }
}
