import KiiPush

extension OutgoingMessage {
    /// The largest body that is read, in bytes: far more than the networks accept.
    package static let mostBodyBytes = 65_536

    /// Reads the body of a request that sends a push: `SendPushMessageRequest`.
    ///
    /// Omitted fields have the defaults of a message made in code, with one difference: once a body enables a network,
    /// only the networks that it names get the push, as Kii's REST reference says. Of `fcm` and `gcm` the enabled one
    /// counts, `fcm` before `gcm`. Values that Kii does not accept in data are read, and reported by
    /// ``problems(sentTo:)``.
    ///
    /// - Throws: ``MessageBodyError`` if the body is longer than 65,536 bytes, is not a JSON object, has an
    ///   unknown or duplicate key, or a value of another type than Kii documents.
    public init(body: [UInt8]) throws(MessageBodyError) { try self.init(body: body, beside: []) }

    /// Reads a body with additional keys that belong to the caller.
    package init(body: [UInt8], beside others: [String]) throws(MessageBodyError) {
        let root = try BodyObject(body)
        let switches = SendSwitch.allCases.map(\.rawValue)
        try root.allow(
            ["data", "pushMessageType", "sendToDevelopment", "sendToProduction"] + switches
                + ["apns", "fcm", "gcm", "jpush", "mqtt"] + others)
        self.init(data: try root.data("data") ?? [:])
        type = try root.string("pushMessageType")
        sendToDevelopment = try root.bool("sendToDevelopment") ?? true
        sendToProduction = try root.bool("sendToProduction") ?? true
        for key in SendSwitch.allCases {
            guard let isOn = try root.bool(key.rawValue) else { continue }
            if isOn { sends.insert(key) } else { sends.remove(key) }
        }
        try readNetworks(root)
    }

    /// Reads a body from a string.
    ///
    /// - Throws: ``MessageBodyError``, as for bytes.
    public init(body: String) throws(MessageBodyError) { try self.init(body: Array(body.utf8)) }

    private mutating func readNetworks(_ root: BodyObject) throws(MessageBodyError) {
        var named: Set<PushNetwork> = []
        if let fields = try root.object("apns") {
            apns = try APNSFields(fields)
            named.insert(.apns)
        }
        let (new, old) = (try root.object("fcm"), try root.object("gcm"))
        if let new { fcm = try FCMFields(new) }
        if let old, case let fields = try FCMFields(old), new == nil || !fcm.isEnabled && fields.isEnabled {
            fcm = fields
            fcm.isNamedGCM = true
        }
        if new != nil || old != nil { named.insert(.fcm) }
        if let fields = try root.object("jpush") {
            jpush = try JPushFields(fields)
            named.insert(.jpush)
        }
        if let fields = try root.object("mqtt") {
            mqtt = try MQTTFields(fields)
            named.insert(.mqtt)
        }
        guard named.contains(where: isEnabled) else { return }
        // JPush is disabled unless it is named.
        if !named.contains(.apns) { apns.isEnabled = false }
        if !named.contains(.fcm) { fcm.isEnabled = false }
        if !named.contains(.mqtt) { mqtt.isEnabled = false }
    }
}

extension APNSFields {
    fileprivate init(_ fields: BodyObject) throws(MessageBodyError) {
        try fields.allow([
            "enabled", "data", "alert", "contentAvailable", "mutableContent", "category", "badge", "sound",
        ])
        self.init(isEnabled: try fields.bool("enabled") ?? true, data: try fields.data("data") ?? [:])
        contentAvailable = try fields.flag("contentAvailable")
        mutableContent = try fields.flag("mutableContent")
        category = try fields.string("category")
        badge = try fields.integer("badge")
        sound = try fields.string("sound")
        guard let shown = try fields.object("alert") else { return }
        try shown.allow(Alert.parts.map(\.name) + ["locArgs"])
        var alert = Alert()
        for part in Alert.parts { alert[keyPath: part.path] = try shown.string(part.name) }
        alert.locArgs = try shown.strings("locArgs") ?? []
        self.alert = alert
    }
}

extension FCMFields {
    fileprivate init(_ fields: BodyObject) throws(MessageBodyError) {
        try fields.allow([
            "enabled", "data", "collapseKey", "delayWhileIdle", "timeToLive", "restrictedPackageName", "dryRun",
            "notification",
        ])
        self.init(isEnabled: try fields.bool("enabled") ?? true, data: try fields.data("data") ?? [:])
        collapseKey = try fields.string("collapseKey")
        delayWhileIdle = try fields.bool("delayWhileIdle")
        timeToLive = try fields.integer("timeToLive")
        restrictedPackageName = try fields.string("restrictedPackageName")
        dryRun = try fields.bool("dryRun")
        notification = try fields.data("notification").map { .object($0.members) }
    }
}

extension MQTTFields {
    fileprivate init(_ fields: BodyObject) throws(MessageBodyError) {
        try fields.allow(["enabled", "data", "dryRun", "retain", "qos"])
        self.init(isEnabled: try fields.bool("enabled") ?? true, data: try fields.data("data") ?? [:])
        dryRun = try fields.bool("dryRun")
        retain = try fields.bool("retain")
        qos = try fields.integer("qos")
    }
}

extension JPushFields {
    fileprivate init(_ fields: BodyObject) throws(MessageBodyError) {
        try fields.allow(["enabled", "data"])
        self.init(isEnabled: try fields.bool("enabled") ?? true, data: try fields.data("data") ?? [:])
    }
}
