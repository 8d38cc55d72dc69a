import KiiPush

extension OutgoingMessage {
    /// Checks the push for errors, and for effects on receivers that the sender may not expect.
    ///
    /// Kii's server refuses a push with a problem, so do not send it. Warnings do not prevent sending. The problems
    /// that concern all networks come first, then those of each enabled network.
    public func problems(sentTo address: PushAddress) -> [SendProblem] {
        var problems = valueProblems(data, at: "data", nil)
        if networks.isEmpty {
            problems.append(
                SendProblem(.noNetwork, at: "", "no network is enabled; set enabled of apns, fcm, jpush or mqtt"))
        }
        if let refusal = SendingRights.refusal(of: address.sender, to: address.topic) {
            problems.append(SendProblem(.notAllowed, at: "topic", refusal))
        } else if case .user(let owner) = address.topic.scope, case .user = address.sender,
            address.sender != .user(owner)
        {
            problems.append(
                SendProblem(
                    .notOwner, at: "topic",
                    "Kii's guide lets only the topic's owner send to it, but shows a push of another user: the server "
                        + "decides"))
        }
        if let fault = KiiName.topic.fault(pieces: [address.topic.name]) {
            problems.append(SendProblem(.impossibleName, at: "topic", fault))
        }
        if fcm.isEnabled, fcm.dryRun == true, apns.isEnabled {
            let path = "\(name(of: .fcm)).dryRun"
            problems.append(SendProblem(.dryRunWithAPNS, at: path, "Kii refuses this while apns is enabled"))
        }
        return problems + networks.flatMap { self.problems($0, address) }
    }

    private func problems(_ network: PushNetwork, _ address: PushAddress) -> [SendProblem] {
        let own = ownData(network)
        let path = "\(name(of: network)).data"
        var problems = network == .fcm ? fcmProblems() : valueProblems(own, at: path, network)
        if let problem = optionProblem(network) { problems.append(problem) }
        let preview = preview(network, sentTo: address)
        if let problem = sizeProblem(preview, address) { problems.append(problem) }
        if !own.isEmpty, !data.isEmpty {
            problems.append(
                SendProblem(
                    .ownData, network, at: path,
                    "Kii does not document whether this adds to data or replaces it; shown as an addition"))
        }
        return problems + receiverProblems(preview)
    }

    private func optionProblem(_ network: PushNetwork) -> SendProblem? {
        if network == .fcm, let time = fcm.timeToLive, !(0...FCMFields.mostTimeToLive).contains(time) {
            return SendProblem(
                .outOfRange, .fcm, at: "\(name(of: .fcm)).timeToLive",
                "FCM keeps a push for 0 to \(FCMFields.mostTimeToLive) seconds, which are 28 days")
        }
        guard network == .mqtt, let quality = mqtt.qos, quality != 0 else { return nil }
        return (0...2).contains(quality)
            ? SendProblem(.undocumented, .mqtt, at: "mqtt.qos", "Kii documents the quality of service 0 only")
            : SendProblem(.outOfRange, .mqtt, at: "mqtt.qos", "MQTT has the qualities of service 0, 1 and 2")
    }

    // MARK: Values and keys

    private func valueProblems(_ data: KeyedData, at path: String, _ network: PushNetwork?) -> [SendProblem] {
        data.members.compactMap { key, value in
            let place = "\(path).\(Suggestion.shown(key))"
            switch value {
            case .array, .object:
                return SendProblem(
                    .nestedValue, network, at: place, "Kii accepts only one level; put the value into a string as JSON")
            case .null:
                return SendProblem(.nullValue, network, at: place, "Kii does not accept null; omit the key")
            case .number(let text) where !JSONNumber.isNumber(text.utf8.span, 0..<text.utf8.count):
                return SendProblem(.notANumber, network, at: place, "JSON cannot write this number")
            case .string, .number, .bool: return nil
            }
        }
    }

    private func fcmProblems() -> [SendProblem] {
        let path = "\(name(of: .fcm)).data"
        var problems = valueProblems(fcm.data, at: path, .fcm)
        for (key, value) in fcm.data.members {
            switch value {
            case .number, .bool:
                let place = "\(path).\(Suggestion.shown(key))"
                problems.append(SendProblem(.notAString, .fcm, at: place, "FCM accepts only strings; quote the value"))
            case .string, .null, .array, .object: break
            }
        }
        for (data, path) in [(data, "data"), (fcm.data, path)] {
            for (key, _) in data.members where isReserved(key) {
                problems.append(
                    SendProblem(
                        .reservedKey, .fcm, at: "\(path).\(Suggestion.shown(key))",
                        "FCM reserves this key; rename it, or turn \(name(of: .fcm)) off"))
            }
        }
        return problems
    }

    // MARK: Size

    private func sizeProblem(_ preview: PushPreview, _ address: PushAddress) -> SendProblem? {
        let (network, used) = (preview.network, preview.bytes)
        guard let limit = network.limit, used > limit else { return nil }
        // Last, since the savings of each switch need another preview.
        let saved = budget(network, sentTo: address).saved
        let savings = SendSwitch.allCases.compactMap { key in
            saved[key].flatMap { $0 > 0 ? "\(key.rawValue) \($0)" : nil }
        }
        let advice = savings.isEmpty ? "" : "; turning off saves: \(savings.joined(separator: ", "))"
        return SendProblem(
            .tooLarge, network, at: name(of: network),
            "\(counted(used, "byte")) with what Kii adds, \(used - limit) more than the \(limit) that "
                + "the network takes\(advice)")
    }

    // MARK: The receiver

    /// Effects on a receiver that the sender may not expect.
    ///
    /// The SDK's own decoder reads the push, so the check knows every key that it knows.
    private func receiverProblems(_ preview: PushPreview) -> [SendProblem] {
        let limits = PayloadLimits(bytes: 16 << 20, members: Self.mostBodyBytes)
        guard let message = try? PushMessage(preview.payload, limits: limits) else { return [] }
        let network = preview.network
        return (kindProblem(message, network).map { [$0] } ?? []) + keyProblems(message, network)
    }

    private func kindProblem(_ message: PushMessage, _ network: PushNetwork) -> SendProblem? {
        let topicID = SendSwitch.topicID.rawValue
        let isSure = message.certainty != .ambiguous
        switch message.kind {
        case .pushToApp:
            let keys = message.classification.evidence.joined(separator: ", ")
            return SendProblem(
                .looksLikeAppEvent, network, at: "data",
                "receivers mistake the push for a bucket event because of \(keys); rename the key")
        case .directPush:
            return SendProblem(
                .looksDirect, network, at: topicID,
                "without the topic, receivers treat the push as a Direct Push; topic routes do not match it")
        case .pushToUser where isSure && message[.topic] == nil && message[.sourceURI] == nil:
            return SendProblem(
                .namesNoTopic, network, at: topicID,
                "receivers treat the push as a Push to User without a topic; topic routes do not match it")
        case .pushToUser where !isSure:
            let names = message.classification.conflicts.map(\.name).joined(separator: ", ")
            return SendProblem(
                .ambiguous, network, at: "data",
                "receivers find a contradiction in \(names), and by default routes ignore such a push")
        case .pushToUser: return nil
        }
    }

    private func keyProblems(_ message: PushMessage, _ network: PushNetwork) -> [SendProblem] {
        let received = Set(message.data.keys.map { ExactText($0) })
        let own = ownData(network)
        return data(for: network).members.compactMap { key, _ in
            // The loop guard's stamp is meant for the guard, which finds it.
            guard !received.contains(ExactText(key)), !key.isExactly(Lineage.key) else { return nil }
            let path = own[key] == nil ? "data" : "\(name(of: network)).data"
            return SendProblem(
                .keyNotReceived, network, at: "\(path).\(Suggestion.shown(key))",
                "receivers treat this key as one of Kii's or the network's, not as data; rename it")
        }
    }
}

/// The keys that data may not use if FCM is enabled, from the lists for FCM and GCM in Kii's REST reference.
private let reservedKeys = [
    "from", "registration_ids", "collapse_key", "data", "delay_while_idle", "time_to_live", "restricted_package_name",
    "dry_run", "message_type", "priority", "ttl", "notification", "fcm_options", "direct_boot_ok",
]

private func isReserved(_ key: String) -> Bool {
    reservedKeys.containsExactly(key) || key.begins(exactlyWith: "google.") || key.begins(exactlyWith: "gcm.")
}
