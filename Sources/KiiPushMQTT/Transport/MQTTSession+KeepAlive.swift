#if MQTT
extension MQTTSession {
    /// Keeps the link alive, also while there is no room for what it brings, or what it has brought has not ended.
    ///
    /// libmosquitto's ping would be queued behind acknowledgements that must not leave yet, and its answer lie behind
    /// messages that nobody reads; then libmosquitto would end the link. So the link has a ping of its own meanwhile,
    /// and only the network tells that the broker is gone.
    func keepAlive(_ link: borrowing MosquittoClient) throws(End) {
        guard isBehind || !maySend else {
            nextPing = nil
            return try lost { () throws(MosquittoClient.Failure) in try link.keepAlive() }
        }
        let due = nextPing ?? .now + pingPause / 2
        nextPing = due
        guard due <= .now, isAccepted, !isSending else { return }
        nextPing = .now + pingPause
        try lost { () throws(MosquittoClient.Failure) in try link.pingPastQueue() }
    }

    /// Half of what the broker was told: it waits for one and a half times that.
    private var pingPause: Duration { .milliseconds(500) * settings.keepAlive }
}
#endif
