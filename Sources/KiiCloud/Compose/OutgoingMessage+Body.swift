import KiiPush

extension OutgoingMessage {
    /// The body of the request that sends the push: `SendPushMessageRequest`, as one line of JSON.
    ///
    /// Every switch and every network is stated, so that no default of the server applies.
    public var body: String {
        JSONWriter.object { writer in
            writer.member("data", value: .object(data.members))
            writer.member("sendToDevelopment", sendToDevelopment)
            writer.member("sendToProduction", sendToProduction)
            if let type { writer.member("pushMessageType", type) }
            for key in SendSwitch.allCases { writer.member(key.rawValue, sends.contains(key)) }
            writer.member("apns") { apns.write(&$0) }
            writer.member(name(of: .fcm)) { fcm.write(&$0) }
            writer.member("jpush") { writer in writer.network(jpush.isEnabled, jpush.data) }
            writer.member("mqtt") { mqtt.write(&$0) }
        }
    }
}

extension JSONWriter {
    /// Writes the fields that all networks have.
    fileprivate mutating func network(_ isEnabled: Bool, _ data: KeyedData) {
        member("enabled", isEnabled)
        guard !data.isEmpty else { return }
        key("data")
        value(.object(data.members))
    }

    fileprivate mutating func text(_ key: String, _ value: String?) {
        if let value { member(key, value) }
    }

    fileprivate mutating func truth(_ key: String, _ value: Bool?) {
        if let value { member(key, value) }
    }

    fileprivate mutating func count(_ key: String, _ value: Int?) {
        if let value { member(key, Int64(value)) }
    }
}

extension APNSFields {
    fileprivate func write(_ writer: inout JSONWriter) {
        writer.network(isEnabled, data)
        if let alert { writer.member("alert") { alert.write(&$0) } }
        writer.truth("contentAvailable", contentAvailable)
        writer.truth("mutableContent", mutableContent)
        writer.text("category", category)
        writer.count("badge", badge)
        writer.text("sound", sound)
    }
}

extension APNSFields.Alert {
    fileprivate func write(_ writer: inout JSONWriter) {
        for part in Self.parts { writer.text(part.name, self[keyPath: part.path]) }
        if !locArgs.isEmpty { writer.member("locArgs", locArgs) }
    }
}

extension FCMFields {
    fileprivate func write(_ writer: inout JSONWriter) {
        writer.network(isEnabled, data)
        writer.text("collapseKey", collapseKey)
        writer.truth("delayWhileIdle", delayWhileIdle)
        writer.count("timeToLive", timeToLive)
        writer.text("restrictedPackageName", restrictedPackageName)
        writer.truth("dryRun", dryRun)
        guard let notification else { return }
        writer.member("notification", value: notification)
    }
}

extension MQTTFields {
    fileprivate func write(_ writer: inout JSONWriter) {
        writer.network(isEnabled, data)
        writer.truth("dryRun", dryRun)
        writer.truth("retain", retain)
        writer.count("qos", qos)
    }
}
