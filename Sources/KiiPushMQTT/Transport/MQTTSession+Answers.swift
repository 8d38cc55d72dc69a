#if MQTT
import CLibrary
import KiiPush
import KiiPushDelivery
import KiiPushSystem

extension MQTTSession {
    func heed(_ answer: MosquittoInbox.Answer, _ link: borrowing MosquittoClient) throws(End) {
        switch answer {
        case .connection(0, let isSessionPresent, let keepAlive, let quality):
            isAccepted = true
            if settings.version == .v5 { self.quality = quality }
            if let keepAlive, keepAlive > 0 { keepAliveSeconds = keepAlive }
            self.isSessionPresent = isSessionPresent
            if !isSessionPresent, hadLink || settings.hadSession { remember(isSessionLost: true) }
            for filter in settings.formerFilters { try link.unsubscribe(filter) }
            for topic in settings.subscriptions { requested[try link.subscribe(topic.filter, topic.quality)] = topic }
            (granted, isBelowRequest, areRequestsSent) = ([], false, false)
        case .connection(let code, _, _, _):
            // The will has another quality of service at the next connection.
            if code == 0x9B { quality = .zero }
            let reason = MosquittoClient.reason(connection: code, settings.version)
            guard !MQTTAnswers.isRefusal(connection: code, settings.version) else {
                throw .refused("\(MQTTAnswers.words(reason)); check \(MQTTAnswers.suspects(connection: code))")
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
            granted.insert(quality)
            guard requested.isEmpty else { return }
            // Before MQTT 5, only the subscriptions show what the broker takes.
            if settings.version != .v5 { self.quality = granted.contains(1) ? .one : .zero }
            noteSubscription()
            publishBirth(link)
        case .publication(let id, let code): noteConfirmation(of: id, code)
        case .end(let code) where code == 0x8E:
            throw .lost("\(MosquittoClient.reason(code)): another program has connected with this client id")
        case .end(let code) where code >= 0x80:
            throw .lost("the broker ended the link: \(MosquittoClient.reason(code))")
        // libmosquitto reports its own disconnect as an error too.
        case .end: break
        }
    }

    /// Reports that the connection delivers pushes from now on, and what may have been lost before.
    private func noteSubscription() {
        subscribedAt = .now
        pauses.noteAdmission()
        let hadSession = hadLink || settings.hadSession
        hadLink = true
        intake.report(.connected(connectionDetail))
        if let (gap, cause) = possibleGap(hadSession: hadSession, isBelowRequest: isBelowRequest) {
            intake.report(.possibleGap(gap, cause: cause))
        }
        remember(isSessionLost: false)
    }

    private var connectionDetail: String {
        let session =
            if settings.cleanSession {
                "clean session"
            } else if settings.version == .v31 {
                "lasting session"
            } else {
                isSessionPresent ? "session kept" : "new session"
            }
        let link = settings.usesTLS ? "over TLS" : "not encrypted"
        let qualities = granted.sorted().map { "\($0)" }.joined(separator: " and ")
        return "MQTT \(settings.version.rawValue) \(link), \(session), QoS \(qualities) granted"
    }

    func possibleGap(hadSession: Bool, isBelowRequest: Bool = false) -> (String, Gap.Cause?)? {
        if settings.cleanSession, hadSession {
            return ("clean session: messages sent while the link was down are lost", .sessionLost)
        }
        if settings.version == .v31, hadSession {
            return ("MQTT 3.1 does not tell whether the broker kept the session", .sessionUnknown)
        }
        if isSessionLost {
            return ("the broker has forgotten the session, and the messages sent while the link was down", .sessionLost)
        }
        // Whoever requests QoS 0 does not mind.
        guard isBelowRequest else { return nil }
        return (
            "QoS 0 granted instead of 1: messages are not acknowledged, and those in transit when the link breaks are "
                + "lost", hadSession ? .notAccepted : nil
        )
    }

    // MARK: What this device says

    /// Publishes the birth message; a broker that does not take it still delivers pushes.
    func publishBirth(_ link: borrowing MosquittoClient) {
        guard let birth = settings.birth else { return }
        do throws(End) { birthID = try link.publish(birth, quality) } catch { tellOfBirth(error.what) }
    }

    private func tellOfBirth(_ why: String) {
        if !hasToldOfBirth { intake.report(.ignored("the birth message cannot be published: \(why)")) }
        hasToldOfBirth = true
    }

    /// Queues the answers that wait; each ends when the broker has confirmed it.
    ///
    /// Before the subscriptions are granted, too: messages of a kept session that the inbox cannot store come sooner.
    func publishAnswers(_ link: borrowing MosquittoClient) {
        guard isAccepted, link.descriptor >= 0 else { return }
        for item in transport.outgoing.waiting {
            do throws(End) {
                let id = try link.publish(item.answer, quality)
                transport.outgoing.published(item, as: id)
                // Nothing confirms it.
                if quality == .zero { transport.outgoing.confirmed(id, nil) }
            } catch {
                transport.outgoing.refused(item, AnswerRefused("it cannot be published: \(error.what)"))
            }
        }
    }

    /// Ends the wait for an answer that the broker has confirmed, or refused.
    func noteConfirmation(of id: Int32, _ code: Int32) {
        guard code >= 0x80 else { return transport.outgoing.confirmed(id, nil) }
        let reason = MosquittoClient.reason(code)
        if id == birthID { return tellOfBirth(reason) }
        // A quota that is used up now.
        let isForNow = code == 0x97
        transport.outgoing.confirmed(
            id, isForNow ? AnswerNotTaken(report: reason) : AnswerRefused("the broker refuses it: \(reason)"))
    }

    // MARK: Files

    /// Ends a connection whose files have changed, with a disconnect packet, so that the next one uses them.
    ///
    /// It works on while acknowledgements wait for messages to end, since the broker would send those again.
    func renewIfChanged(_ link: borrowing MosquittoClient) throws(End) {
        let haveChanged: Bool
        do throws(MQTTSettingsError) { haveChanged = try files.haveChanged() } catch {
            return intake.report(.ignored("\(error); the link stays as it is"))
        }
        guard haveChanged, subscribedAt != nil, maySend else { return }
        leave(link)
        throw .renewed
    }

    /// The file that is there from a connection without its session until that was reported.
    var lossFile: String? { settings.retainedFile.map { "\($0).lost" } }

    /// Remembers, over a restart too, a lost session to report: the next connection finds the one made here.
    func remember(isSessionLost isLost: Bool) {
        isSessionLost = isLost
        // The others report each connection.
        guard let lossFile, !settings.cleanSession, settings.version != .v31 else { return }
        guard isLost else {
            unsafe unlink(lossFile)
            return
        }
        do throws(ErrorNumber) { try replaceFile(lossFile, with: "") } catch {
            intake.report(.ignored("\(lossFile) cannot be written: \(error); a restart would forget a lost session"))
        }
    }
}

extension UnsentAnswer {
    /// What is published: the data that the handler gave, else `{}`, or the reason of the failure as `{"error": …}`.
    var text: String {
        if let data = answer.data { return data.jsonText }
        return JSONWriter.object { writer in
            if answer.status != .succeeded { writer.member("error", answer.words) }
        }
    }
}
#endif
