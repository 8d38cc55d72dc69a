#if MQTT
import KiiPush
import KiiPushDelivery

extension MQTTSession {
    /// Ends a link whose files have changed, in good order, so that another one is made with them.
    ///
    /// Not while acknowledgements wait for messages to end: the broker would send those again. The link that is there
    /// is good until then.
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
