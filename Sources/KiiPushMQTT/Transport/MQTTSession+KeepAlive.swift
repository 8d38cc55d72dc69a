#if MQTT
extension MQTTSession {
    /// Keeps the connection alive, also while the inbox is full or messages have not ended.
    ///
    /// libmosquitto's ping would wait behind acknowledgements that must not be sent yet, and its answer behind messages
    /// that are not read; libmosquitto would then end the connection. So the session sends its own ping meanwhile, and
    /// only the network reveals that the broker is gone.
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

    /// Half of the interval that the broker was told: it waits for one and a half times that.
    private var pingPause: Duration { .milliseconds(500) * settings.keepAlive }
}
#endif
