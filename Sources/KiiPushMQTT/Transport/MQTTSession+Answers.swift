#if MQTT
import KiiPush
import KiiPushDelivery
import KiiPushSystem

extension MQTTSession {
    /// Processes a broker's answer.
    func heed(_ answer: MosquittoInbox.Answer, _ link: borrowing MosquittoClient) throws(End) {
        switch answer {
        case .connection(0, let isSessionPresent):
            isAccepted = true
            self.isSessionPresent = isSessionPresent
            if !isSessionPresent, hadLink || settings.hadSession { remember(isSessionLost: true) }
            do throws(MosquittoClient.Failure) {
                for filter in settings.formerFilters { try link.unsubscribe(filter) }
                for topic in settings.subscriptions {
                    requested[try link.subscribe(topic.filter, topic.quality)] = topic
                }
                (granted, isBelowRequest, areRequestsSent) = (.max, false, false)
            } catch { throw .lost(error) }
        case .connection(let code, _):
            let reason = MosquittoClient.reason(connection: code, settings.version)
            guard !MQTTAnswers.isRefusal(connection: code, settings.version) else {
                throw .refused(
                    "\(MQTTAnswers.words(reason)); check user, password, certificate, client id and version")
            }
            throw .lost("the broker refuses the connection: \(reason)")
        // A broker, or an attacker in between, must not end a subscribed connection with an unrequested answer.
        case .subscription(let id, _) where requested[id] == nil: arrivals.ignoreAnswer()
        case .subscription(let id, let code) where code >= 0x80:
            // Before MQTT 5 there is only one code, without details.
            var reason = settings.version == .v5 ? MosquittoClient.reason(code) : "code \(code)"
            if settings.subscriptions.count > 1 { reason += " for \(EscapedText(requested[id]?.filter ?? ""))" }
            guard !MQTTAnswers.isRefusal(subscription: code, settings.version) else {
                throw .refused(
                    "\(MQTTAnswers.words(reason)), to subscribe; check the topic, and what this user may read")
            }
            throw .lost("the broker refuses the subscription: \(reason)")
        case .subscription(let id, let quality):
            if let wanted = requested.removeValue(forKey: id)?.quality.rawValue, quality < wanted {
                isBelowRequest = true
            }
            granted = min(granted, quality)
            guard requested.isEmpty else { return }
            noteSubscription(granted)
            publishBirth(link)
        case .publication(let id, let code): noteConfirmation(of: id, code)
        case .end(let code) where code == 0x8E:
            throw .lost("\(MosquittoClient.reason(code)): another program has connected with this client id")
        case .end(let code) where code >= 0x80:
            throw .lost("the broker ended the link: \(MosquittoClient.reason(code))", isByBroker: true)
        // libmosquitto reports its own disconnect as an error too.
        case .end: break
        }
    }

    /// Reports that the connection delivers pushes from now on, and what may have been lost before.
    private func noteSubscription(_ quality: Int32) {
        subscribedAt = .now
        pauses.noteAdmission()
        let hadSession = hadLink || settings.hadSession
        hadLink = true
        intake.report(.connected(connectionDetail(quality)))
        if let (gap, cause) = possibleGap(hadSession: hadSession, quality) {
            intake.report(.possibleGap(gap, cause: cause))
        }
        remember(isSessionLost: false)
    }

    private func connectionDetail(_ quality: Int32) -> String {
        let session =
            if settings.cleanSession {
                "clean session"
            } else if settings.version == .v31 {
                "lasting session"
            } else {
                isSessionPresent ? "session kept" : "new session"
            }
        let link = settings.usesTLS ? "over TLS" : "not encrypted"
        return "MQTT \(settings.version.rawValue) \(link), \(session), QoS \(quality) granted"
    }

    func possibleGap(hadSession: Bool, _ quality: Int32) -> (String, Gap.Cause?)? {
        if settings.cleanSession, hadSession {
            return ("clean session: messages sent while the link was down are lost", .sessionLost)
        }
        if settings.version == .v31, hadSession {
            return ("MQTT 3.1 does not tell whether the broker kept the session", .sessionUnknown)
        }
        if isSessionLost {
            return ("the broker has forgotten the session, and the messages sent while the link was down", .sessionLost)
        }
        guard quality == 0 else { return nil }
        // Whoever asks for QoS 0 does not mind.
        return (
            "QoS 0 granted: messages are not acknowledged, and those in transit when the link breaks are lost",
            hadSession && isBelowRequest ? .notAccepted : nil
        )
    }
}
#endif
