#if MQTT
import KiiPush
import KiiPushDelivery

// Publishes what this device says: the birth message, and answers.
extension MQTTSession {
    /// Publishes the birth message; a broker that does not take it still delivers pushes.
    func publishBirth(_ link: borrowing MosquittoClient) {
        guard let birth = settings.birth else { return }
        do throws(MosquittoClient.Failure) { try link.publish(birth, .one) } catch {
            if !hasToldOfBirth { intake.report(.ignored("the birth message cannot be published: \(error.what)")) }
            hasToldOfBirth = true
        }
    }

    /// Queues the answers that wait; each ends when the broker has confirmed it.
    func publishAnswers(_ link: borrowing MosquittoClient) {
        guard subscribedAt != nil, link.descriptor >= 0 else { return }
        for item in outgoing.waiting {
            do throws(MosquittoClient.Failure) {
                outgoing.published(item, as: try link.publish(item.answer))
            } catch {
                outgoing.refused(item, AnswerRefused("it cannot be published: \(error.what)"))
            }
        }
    }

    /// Ends the wait for an answer that the broker has confirmed, or refused.
    func noteConfirmation(of id: Int32, _ code: Int32) {
        guard code >= 0x80 else { return outgoing.confirmed(id, nil) }
        outgoing.confirmed(id, AnswerRefused("the broker refuses it: \(MosquittoClient.reason(code))"))
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
