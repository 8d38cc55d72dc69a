import KiiPush

extension OutgoingMessage {
    /// Checks the push for errors, and for effects on receivers that the sender may not expect.
    ///
    /// Kii's server refuses a push with a problem, so do not send it. Warnings do not prevent sending.
    ///
    /// - Parameter address: the topic, the sender, and the time.
    /// - Returns: the problems that concern all networks, then those of each enabled network; empty if there are none.
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
        if let fault = KiiName.topic.fault(address.topic.name) {
            problems.append(SendProblem(.impossibleName, at: "topic", fault))
        }
        if fcm.isEnabled, fcm.dryRun == true, apns.isEnabled {
            let path = "\(name(of: .fcm)).dryRun"
            problems.append(SendProblem(.dryRunWithAPNS, at: path, "Kii refuses this while apns is enabled"))
        }
        for network in networks { problems += self.problems(network, address) }
        return problems
    }

    private func problems(_ network: PushNetwork, _ address: PushAddress) -> [SendProblem] {
        let own = ownData(network)
        let path = "\(name(of: network)).data"
        var problems = network == .fcm ? fcmProblems() : valueProblems(own, at: path, network)
        problems += optionProblems(network)
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

    /// The delivery options that the network refuses.
    private func optionProblems(_ network: PushNetwork) -> [SendProblem] {
        if network == .fcm, let time = fcm.timeToLive, !(0...FCMFields.mostTimeToLive).contains(time) {
            return [
                SendProblem(
                    .outOfRange, .fcm, at: "\(name(of: .fcm)).timeToLive",
                    "FCM keeps a push for 0 to \(FCMFields.mostTimeToLive) seconds, which are 28 days")
            ]
        }
        if network == .mqtt, let quality = mqtt.qos, quality != 0 {
            return [
                (0...2).contains(quality)
                    ? SendProblem(.undocumented, .mqtt, at: "mqtt.qos", "Kii documents the quality of service 0 only")
                    : SendProblem(.outOfRange, .mqtt, at: "mqtt.qos", "MQTT has the qualities of service 0, 1 and 2")
            ]
        }
        return []
    }

    // MARK: Values and keys

    /// The values that Kii does not accept.
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
                problems.append(
                    SendProblem(
                        .notAString, .fcm, at: "\(path).\(Suggestion.shown(key))",
                        "FCM accepts only strings; quote the value"))
            case .string, .null, .array, .object: break
            }
        }
        for (data, path) in [(data, "data"), (fcm.data, path)] {
            for (key, _) in data.members where ReservedKeys.isReserved(key) {
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
        let budget = budget(network, sentTo: address)
        let savings = SendSwitch.allCases.filter { budget.saved[$0, default: 0] > 0 }.map {
            "\($0.rawValue) \(budget.saved[$0, default: 0])"
        }
        let advice = savings.isEmpty ? "" : "; turning off saves: \(savings.joined(separator: ", "))"
        return SendProblem(
            .tooLarge, network, at: name(of: network),
            "\(counted(used, "byte")) with what Kii adds, \(used - limit) more than the \(limit) that "
                + "the network takes\(advice)")
    }
}
