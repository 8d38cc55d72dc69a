/// The short keys of APNs payloads, as on the wire.
///
/// From the overview table of Kii's `KiiReceivedMessage` reference. Booleans and numbers keep their JSON types, and
/// `aps` is Apple's dictionary.
enum ShortKeys {
    static let aps = "aps"

    static func name(of field: KiiField) -> String {
        switch field {
        case .appID: "a"
        case .sender: "s"
        case .origin: "o"
        case .when: "w"
        case .type: "t"
        case .topic: "to"
        case .scopeAppID: "sa"
        case .scopeUserID: "su"
        case .scopeGroupID: "sg"
        case .scopeThingID: "sth"
        case .scopeType: "st"
        case .bucketID: "bi"
        case .bucketType: "bt"
        case .objectID: "oi"
        case .objectModifiedAt: "om"
        case .sourceURI, .senderURI: LongKeys.name(of: field)
        }
    }
}
