/// The fields that Kii adds to a payload: the fifteen of `KiiMessageField`, and the two URIs of MQTT payloads.
///
/// Read one with ``PushMessage/subscript(_:)``, whatever the payload's key style is.
public enum KiiField: UInt8, Sendable, Hashable, CaseIterable {
    /// The app that the notification comes from; sent only when the sender asks for it.
    case appID
    /// The bare id of the user or thing that caused the push; APNs Push to App has none.
    case sender
    /// `EVENT` for Push to App; `EXPLICIT` for Push to User *and* Direct Push.
    case origin
    /// When the push was made, in milliseconds since 1970.
    case when
    /// The event of a Push to App, or any text that the sender of another kind chose.
    case type
    /// The topic of a Push to User.
    case topic
    /// The app of the scope; present in every scope, so it says nothing about which one it is.
    case scopeAppID
    /// The user of a user scope.
    case scopeUserID
    /// The group of a group scope.
    case scopeGroupID
    /// The thing of a thing scope.
    case scopeThingID
    /// `APP`, `APP_AND_USER`, `APP_AND_GROUP` or `APP_AND_THING`.
    case scopeType
    /// The name of the bucket.
    case bucketID
    /// `rw` or `sync` as documented; any case, and open.
    case bucketType
    /// The id of the object.
    case objectID
    /// When the object was modified, in milliseconds since 1970; never in an APNs payload.
    case objectModifiedAt
    /// What the push is about, as a `kiicloud://` URI; of a Direct Push, its recipient.
    case sourceURI
    /// Who sent it, as a `kiicloud://` URI: the only place where the kind of a sender is written down.
    case senderURI

    /// The field's key where keys are long, which is also its name in reports.
    public var longName: String { LongKeys.name(of: self) }

    /// The field's key in an APNs payload; the URIs keep their long one.
    public var shortName: String { ShortKeys.name(of: self) }

    /// Whether the field holds a time in milliseconds rather than text.
    var isTime: Bool { self == .when || self == .objectModifiedAt }
}
