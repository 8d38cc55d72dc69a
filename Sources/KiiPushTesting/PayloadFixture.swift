public import KiiPush

/// Builds a payload for tests: describe its contents, and encode it with either key style.
///
/// ```swift
/// let fixture = PayloadFixture.pushToApp(bucket: "settings", object: "o-1", scope: .user(KiiUser(id: "U1")))
/// let payload = fixture.payload(.long)
/// ```
///
/// The shapes are those that Kii's servers send; the values are invented.
public struct PayloadFixture: Sendable {
    /// The keys with which a payload is encoded.
    public enum KeyStyle: Sendable, Hashable, CaseIterable {
        /// As over APNs: short keys and an `aps` object; fields that no sample of Kii over APNs has are omitted.
        case short
        /// As over MQTT: long keys, times as numbers.
        case long
        /// As over FCM: long keys, every value a string.
        case strings

        /// The transport that has these keys.
        var transport: Transport {
            switch self {
            case .short: .apns
            case .long: .mqtt
            case .strings: .fcm
            }
        }
    }

    /// Kii's fields, as text; nil values are omitted.
    public var fields: [KiiField: String] = [:]

    /// The sender's own data.
    public var data: [(key: String, value: DataValue)] = []

    /// The text of the alert, for short keys.
    public var alert: String?

    /// Makes an empty payload, which is a Direct Push by absence.
    public init() {}

    /// A Push to App; `object` may be nil, as when a bucket is deleted.
    ///
    /// Each `modifiedAt` makes another event; without it, each `sentAt` does. The sender and `modifiedAt` are encoded
    /// with long keys only, since APNs omits them.
    public static func pushToApp(
        bucket: String = "settings", object: String? = "o-1", event: KiiEvent = .objectUpdated, scope: KiiScope = .app,
        sender: String? = "U-sender", sentAt: Int64 = 1_700_000_000_033, modifiedAt: Int64? = 1_700_000_000_000,
        app: String = "0123abcd"
    ) -> PayloadFixture {
        var fixture = PayloadFixture()
        fixture.fields = [
            .origin: "EVENT", .bucketID: bucket, .bucketType: "rw", .type: event.name, .when: String(sentAt),
            .appID: app,
        ]
        fixture.fields[.objectID] = object
        fixture.fields[.sender] = sender
        fixture.fields[.objectModifiedAt] = modifiedAt.map { String($0) }
        fixture.setScope(scope, app)
        return fixture
    }

    /// The Push to App about a change of an object, with the type of its bucket.
    package static func change(
        _ event: KiiEvent, of object: KiiObject, sender: String?, sentAt: Int64, modifiedAt: Int64?, app: String
    ) -> PayloadFixture {
        let bucket = object.bucket
        var fixture = pushToApp(
            bucket: bucket.name, object: object.id, event: event, scope: bucket.scope, sender: sender, sentAt: sentAt,
            modifiedAt: modifiedAt, app: app)
        if let type = bucket.type { fixture.fields[.bucketType] = type.rawName }
        return fixture
    }

    /// A Push to User; each `sentAt` makes another message.
    public static func pushToUser(
        topic: String = "news", scope: KiiScope = .app, sender: String? = "U-sender",
        sentAt: Int64? = 1_700_000_000_033, data: [(key: String, value: DataValue)] = [("text", .string("hello"))],
        app: String = "0123abcd"
    ) -> PayloadFixture {
        var fixture = PayloadFixture()
        fixture.fields = [.topic: topic]
        fixture.fields[.sender] = sender
        fixture.fields[.when] = sentAt.map { String($0) }
        fixture.setScope(scope, app)
        fixture.data = data
        fixture.alert = "hello"
        return fixture
    }

    /// A Direct Push to a user's device; over MQTT its URIs identify it, and without a recipient it has none.
    public static func directPush(
        recipient: String? = "U-me", data: [(key: String, value: DataValue)] = [("text", .string("hello"))]
    ) -> PayloadFixture {
        var fixture = PayloadFixture()
        if let recipient {
            fixture.fields = [.sourceURI: "kiicloud://users/\(recipient)", .senderURI: "kiicloud://admins/APP_ADMIN"]
        }
        fixture.data = data
        fixture.alert = "hello"
        return fixture
    }

    private mutating func setScope(_ scope: KiiScope, _ app: String) {
        fields[.scopeType] = scope.typeName
        fields[.scopeAppID] = app
        switch scope {
        case .app: break
        case .user(let user): fields[.scopeUserID] = user.id
        case .group(let group): fields[.scopeGroupID] = group.id
        case .thing(let thing): fields[.scopeThingID] = thing.id
        }
    }

    // MARK: Encoding

    /// The payload as a transport with this key style would deliver it.
    public func payload(_ style: KeyStyle) -> RawPayload { RawPayload(json(style), transport: style.transport) }

    /// The payload's text.
    public func json(_ style: KeyStyle) -> String {
        var members: [(key: String, value: DataValue)] = []
        if style == .short {
            let shown = alert.map { (key: "alert", value: DataValue.object([(key: "body", value: .string($0))])) }
            members.append(("aps", .object([shown ?? (key: "content-available", value: .number("1"))])))
        }
        for field in KiiField.allCases where Self.isSent(field, style, isApp: fields[.bucketID] != nil) {
            guard let text = fields[field] else { continue }
            let isNumber = style != .strings && field.isTime && DecimalText(text) != nil
            let key = style == .short ? field.shortName : field.longName
            members.append((key, isNumber ? .number(text) : .string(text)))
        }
        members += data.map { key, value in
            (key, style == .strings ? .string(value.string ?? value.jsonText) : value)
        }
        return DataValue.object(members).jsonText
    }

    /// Whether a transport sends a field: APNs omits the URIs, and for a Push to App the sender, the app and the time
    /// of modification.
    private static func isSent(_ field: KiiField, _ style: KeyStyle, isApp: Bool) -> Bool {
        switch field {
        case .sourceURI, .senderURI: style == .long
        case .appID, .sender, .origin, .objectModifiedAt: style != .short || !isApp
        default: true
        }
    }

    // MARK: The matrix

    /// One payload for each kind, scope and key style that a device may receive, each with a name.
    ///
    /// The scope of a Direct Push is nil: Kii states a scope only with a bucket or topic.
    public static var matrix: [(name: String, kind: PushKind, scope: KiiScope?, style: KeyStyle, payload: RawPayload)] {
        let scopes: [KiiScope] = [
            .app, .user(KiiUser(id: "U-1")), .group(KiiGroup(id: "G-1")), .thing(KiiThing(id: "th.1")),
        ]
        let fixtures: [(PushKind, KiiScope?, PayloadFixture)] =
            scopes.map { (.pushToApp, $0, pushToApp(scope: $0)) }
            + scopes.map { (.pushToUser, $0, pushToUser(scope: $0)) }
            + [(.directPush, nil, directPush(recipient: nil))]
        return fixtures.flatMap { kind, scope, fixture in
            KeyStyle.allCases.map { style in
                let name = "\(kind), \(scope?.typeName ?? "no scope"), \(style) keys"
                return (name, kind, scope, style, fixture.payload(style))
            }
        }
    }
}
