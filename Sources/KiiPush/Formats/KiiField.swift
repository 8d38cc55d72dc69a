/// The fields that Kii adds to a payload: the fifteen of `KiiMessageField`, and the two URIs of MQTT payloads.
///
/// Read one with ``PushMessage/subscript(_:)``, in either key style.
@nonexhaustive
public enum KiiField: UInt8, Sendable, Hashable, CaseIterable {
    /// The app that the push comes from; sent only if the sender requests it.
    case appID
    /// The bare id of the user or thing that caused the push; Kii's samples of a Push to App over APNs have none.
    case sender
    /// `EVENT` for Push to App; `EXPLICIT` for Push to User *and* Direct Push.
    case origin
    /// When the push was made, in milliseconds since 1970.
    case when
    /// The event of a Push to App; in another kind, any text of the sender.
    case type
    /// The topic of a Push to User.
    case topic
    /// The app of the scope; present in every scope, so it does not distinguish them.
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
    /// `rw` or `sync` as documented; in any case, and other values are allowed.
    case bucketType
    /// The id of the object.
    case objectID
    /// When the object was modified, in milliseconds since 1970; in none of Kii's samples over APNs.
    case objectModifiedAt
    /// The subject of the push, as a `kiicloud://` URI; for a Direct Push, its recipient.
    case sourceURI
    /// Who sent it, as a `kiicloud://` URI: the only field that states the type of a sender.
    case senderURI

    /// The field's long key, which is also its name in reports.
    package var longName: String { names.long }

    /// The field's key in an APNs payload; the URIs keep their long keys.
    package var shortName: String { names.short }

    /// The keys as on the wire: the long ones from Kii's Android reference and the samples of its JavaScript guides,
    /// the short ones from the overview table of its `KiiReceivedMessage` reference.
    ///
    /// FCM has only strings. MQTT has numbers for the two times, and adds the two URIs. APNs keeps the JSON types.
    private var names: (long: String, short: String) {
        switch self {
        case .appID: ("appID", "a")
        case .sender: ("sender", "s")
        case .origin: ("origin", "o")
        case .when: ("when", "w")
        case .type: ("type", "t")
        case .topic: ("topic", "to")
        case .scopeAppID: ("objectScopeAppID", "sa")
        case .scopeUserID: ("objectScopeUserID", "su")
        case .scopeGroupID: ("objectScopeGroupID", "sg")
        // The long key is not publicly documented, but by analogy with the other three. `sourceURI` replaces it in
        // payloads without it.
        case .scopeThingID: ("objectScopeThingID", "sth")
        case .scopeType: ("objectScopeType", "st")
        case .bucketID: ("bucketID", "bi")
        case .bucketType: ("bucketType", "bt")
        case .objectID: ("objectID", "oi")
        case .objectModifiedAt: ("modifiedAt", "om")
        case .sourceURI: ("sourceURI", "sourceURI")
        case .senderURI: ("senderURI", "senderURI")
        }
    }

    package var isTime: Bool { self == .when || self == .objectModifiedAt }
}
