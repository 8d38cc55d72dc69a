/// The long keys of every transport but APNs, as on the wire.
///
/// From Kii's Android reference and the samples of its JavaScript guides. FCM has only strings; MQTT has numbers for
/// the two times, and adds the two URIs.
enum LongKeys {
    static func name(of field: KiiField) -> String {
        switch field {
        case .appID: "appID"
        case .sender: "sender"
        case .origin: "origin"
        case .when: "when"
        case .type: "type"
        case .topic: "topic"
        case .scopeAppID: "objectScopeAppID"
        case .scopeUserID: "objectScopeUserID"
        case .scopeGroupID: "objectScopeGroupID"
        // Not publicly documented; by analogy with the other three. `sourceURI` replaces it in payloads without it.
        case .scopeThingID: "objectScopeThingID"
        case .scopeType: "objectScopeType"
        case .bucketID: "bucketID"
        case .bucketType: "bucketType"
        case .objectID: "objectID"
        case .objectModifiedAt: "modifiedAt"
        case .sourceURI: "sourceURI"
        case .senderURI: "senderURI"
        }
    }
}
