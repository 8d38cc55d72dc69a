#if MQTT
import KiiPush
import KiiPushDelivery

extension MQTTSession {
    /// Ends a connection whose files have changed, with a disconnect packet, so that the next one uses them.
    ///
    /// Waits while acknowledgements wait for messages to end, since the broker would send those again. The current
    /// connection works until then.
    func renewIfChanged(_ link: borrowing MosquittoClient) throws(End) {
        switch fileLook.look() {
        case .failure(let error): intake.report(.ignored("\(error); the link stays as it is"))
        case .success(let isToRenew):
            guard isToRenew, subscribedAt != nil, maySend else { return }
            leave(link)
            throw .renewed
        }
    }
}
#endif
