/// A parameter of a QuickBlox event for iOS; all but one correspond to a value of Apple's dictionary.
///
/// QuickBlox's server translates it for iOS and ignores it for Android. A payload that still has one is the sender's
/// own text, so it is translated: it moves from the data to ``PushMessage/aps``, or to ``QuickBloxPush/isVoIP``.
/// From QuickBlox's reference of push notification formats.
enum QuickBloxParameter: String, CaseIterable {
    case badge = "ios_badge"
    case sound = "ios_sound"
    case category = "ios_category"
    case contentAvailable = "ios_content_available"
    case mutableContent = "ios_mutable_content"
    case voIP = "ios_voip"

    /// The corresponding key of Apple's dictionary; nil if it has none.
    var appleKey: String? {
        switch self {
        case .badge: "badge"
        case .sound: "sound"
        case .category: "category"
        case .contentAvailable: "content-available"
        case .mutableContent: "mutable-content"
        case .voIP: nil
        }
    }
}
