import KiiPush

// How a receiver decodes the push: this uses the SDK's own decoder, so the check knows every key that it knows.
extension OutgoingMessage {
    /// Effects on a receiver that the sender may not expect.
    func receiverProblems(_ preview: PushPreview) -> [SendProblem] {
        let limits = PayloadLimits(bytes: 16 << 20, members: Self.mostBodyBytes)
        guard let message = try? PushMessage(preview.payload, limits: limits) else { return [] }
        return kindProblems(message, preview.network) + keyProblems(message, preview.network)
    }

    private func kindProblems(_ message: PushMessage, _ network: PushNetwork) -> [SendProblem] {
        let isSure = message.certainty != .ambiguous
        switch message.kind {
        case .pushToApp:
            let keys = message.classification.evidence.joined(separator: ", ")
            return [
                SendProblem(
                    .looksLikeAppEvent, network, at: "data",
                    "receivers mistake the push for a bucket event because of \(keys); rename the key")
            ]
        case .directPush:
            return [
                SendProblem(
                    .looksDirect, network, at: SendSwitch.topicID.rawValue,
                    "without the topic, receivers treat the push as a Direct Push; topic routes do not match it")
            ]
        case .pushToUser where isSure && message[.topic] == nil && message[.sourceURI] == nil:
            return [
                SendProblem(
                    .namesNoTopic, network, at: SendSwitch.topicID.rawValue,
                    "receivers treat the push as a Push to User without a topic; topic routes do not match it")
            ]
        case .pushToUser:
            guard !isSure else { return [] }
            let names = message.classification.conflicts.map(\.name).joined(separator: ", ")
            return [
                SendProblem(
                    .ambiguous, network, at: "data",
                    "receivers find a contradiction in \(names), and by default routes ignore such a push")
            ]
        }
    }

    private func keyProblems(_ message: PushMessage, _ network: PushNetwork) -> [SendProblem] {
        let received = Set(message.data.keys.map { ExactText($0) })
        let own = ownData(network)
        return data(for: network).members.compactMap { key, _ in
            // The loop guard's stamp is meant for the guard, which finds it.
            guard !received.contains(ExactText(key)), key != Lineage.key else { return nil }
            let path = own[key] == nil ? "data" : "\(name(of: network)).data"
            return SendProblem(
                .keyNotReceived, network, at: "\(path).\(Suggestion.shown(key))",
                "receivers treat this key as one of Kii's or the network's, not as data; rename it")
        }
    }
}
