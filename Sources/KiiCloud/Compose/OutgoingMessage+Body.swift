import KiiPush

extension OutgoingMessage {
    /// The body of the request that sends the push: `SendPushMessageRequest`, as one line of JSON.
    ///
    /// Every switch and every network is stated, so that no default of the server applies.
    public var body: String {
        var members: [(key: String, value: DataValue)] = [
            ("data", .object(data.members)), ("sendToDevelopment", .bool(sendToDevelopment)),
            ("sendToProduction", .bool(sendToProduction)),
        ]
        if let type { members.append(("pushMessageType", .string(type))) }
        members += SendSwitch.allCases.map { ($0.rawValue, .bool(sends.contains($0))) }
        members += [
            ("apns", apns.body), (name(of: .fcm), fcm.body), ("jpush", .network(jpush.isEnabled, jpush.data)),
            ("mqtt", mqtt.body),
        ]
        return DataValue.object(members).jsonText
    }
}

extension DataValue {
    fileprivate static func network(
        _ isEnabled: Bool, _ data: KeyedData, _ fields: [(key: String, value: DataValue?)] = []
    ) -> DataValue {
        var members: [(key: String, value: DataValue)] = [("enabled", .bool(isEnabled))]
        if !data.isEmpty { members.append(("data", .object(data.members))) }
        for (key, value) in fields { if let value { members.append((key, value)) } }
        return .object(members)
    }
}

extension APNSFields {
    fileprivate var body: DataValue {
        .network(
            isEnabled, data,
            [
                ("alert", alert?.object(\.name, locArgs: "locArgs")),
                ("contentAvailable", contentAvailable.map { .bool($0) }),
                ("mutableContent", mutableContent.map { .bool($0) }), ("category", category.map { .string($0) }),
                ("badge", badge.map { .integer($0) }), ("sound", sound.map { .string($0) }),
            ])
    }
}

extension FCMFields {
    fileprivate var body: DataValue {
        .network(
            isEnabled, data,
            [
                ("collapseKey", collapseKey.map { .string($0) }),
                ("delayWhileIdle", delayWhileIdle.map { .bool($0) }), ("timeToLive", timeToLive.map { .integer($0) }),
                ("restrictedPackageName", restrictedPackageName.map { .string($0) }),
                ("dryRun", dryRun.map { .bool($0) }), ("notification", notification),
            ])
    }
}

extension MQTTFields {
    fileprivate var body: DataValue {
        .network(
            isEnabled, data,
            [
                ("dryRun", dryRun.map { .bool($0) }), ("retain", retain.map { .bool($0) }),
                ("qos", qos.map { .integer($0) }),
            ])
    }
}
