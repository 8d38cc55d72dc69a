import Foundation
import KiiCloud
import KiiPush
import KiiPushAgent
import Testing

/// Holds the guide for readers who know Kii's SDK: each old name has a successor there, and each successor exists.
@Suite("The migration guide")
struct MigrationTests {
    /// A row of a table: the names in its first column, and in its second.
    private struct Row {
        let old: [String]
        let new: [String]
    }

    private static let guide = try? String(
        contentsOf: URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "Sources/KiiPush/KiiPush.docc/FromKiiReceivedMessage.md"), encoding: .utf8)

    private static var rows: [Row] {
        (guide ?? "").split(separator: "\n").filter { $0.hasPrefix("| ") }.compactMap { line in
            let cells = line.split(separator: "|")
            let (old, new) = (names(cells[0]), cells.count > 1 ? names(cells[1]) : [])
            return old.isEmpty ? nil : Row(old: old, new: new)
        }
    }

    /// The names in code or links.
    private static func names(_ cell: Substring) -> [String] {
        let parts = cell.replacing("``", with: "`").split(separator: "`", omittingEmptySubsequences: false)
        return parts.enumerated().filter { $0.offset % 2 == 1 }.map { String($0.element) }
    }

    @Test("each new name exists")
    func exists() {
        #expect(!Self.rows.isEmpty, "the tables were not found")
        let known = Set(Self.receiving + Self.handles + Self.sending + Self.quickBlox)
        for row in Self.rows {
            #expect(!row.new.isEmpty, "\(row.old) has no successor")
            for new in row.new { #expect(known.contains(new), "\(new) is not shown to exist") }
        }
    }

    // The code beside each name compiles only if the name exists.

    private static func named(_ names: (String, Any)...) -> [String] { names.map(\.0) }

    private static let receiving = named(
        ("PushMessage", PushMessage.self),
        (
            "PushMessage/init(_:limits:app:formats:)",
            { (payload: RawPayload) throws in try PushMessage(payload, limits: .standard, app: nil) }
        ),
        (
            "PushReceiver/receive(_:)",
            { (receiver: PushReceiver, payload: RawPayload) in await receiver.receive(payload) }
        ),
        ("Outcome/disposition", \Outcome.disposition), ("PushMessage/raw", \PushMessage.raw),
        ("PushMessage/rawObject", \PushMessage.rawObject), ("PushMessage/bucket", \PushMessage.bucket),
        ("PushMessage/object", \PushMessage.object), ("PushMessage/topic", \PushMessage.topic),
        ("PushMessage/scopeUser", \PushMessage.scopeUser), ("PushMessage/scopeGroup", \PushMessage.scopeGroup),
        ("PushMessage/scopeThing", \PushMessage.scopeThing), ("PushMessage/senderUser", \PushMessage.senderUser),
        ("PushMessage/senderThing", \PushMessage.senderThing), ("PushMessage/scope", \PushMessage.scope),
        ("PushMessage/subscript(_:)", \PushMessage[.type]), ("PushMessage/alert", \PushMessage.alert),
        ("MessageScope/Kind-swift.enum/unknown", MessageScope.Kind.unknown), ("KiiField", KiiField.self),
        ("AlertPresenter", AlertPresenter.self), ("KiiField/appID", KiiField.appID),
        ("KiiField/sender", KiiField.sender), ("KiiField/origin", KiiField.origin), ("KiiField/when", KiiField.when),
        ("KiiField/type", KiiField.type), ("KiiField/topic", KiiField.topic),
        ("KiiField/scopeAppID", KiiField.scopeAppID), ("KiiField/scopeUserID", KiiField.scopeUserID),
        ("KiiField/scopeGroupID", KiiField.scopeGroupID), ("KiiField/scopeThingID", KiiField.scopeThingID),
        ("KiiField/scopeType", KiiField.scopeType), ("KiiField/bucketID", KiiField.bucketID),
        ("KiiField/bucketType", KiiField.bucketType), ("KiiField/objectID", KiiField.objectID),
        ("KiiField/objectModifiedAt", KiiField.objectModifiedAt), ("KiiEvent/objectCreated", KiiEvent.objectCreated),
        ("KiiEvent/objectUpdated", KiiEvent.objectUpdated), ("KiiEvent/objectDeleted", KiiEvent.objectDeleted),
        ("KiiEvent/objectBodyUpdated", KiiEvent.objectBodyUpdated),
        ("KiiEvent/objectBodyDeleted", KiiEvent.objectBodyDeleted),
        ("KiiEvent/objectACLModified", KiiEvent.objectACLModified), ("KiiEvent/bucketDeleted", KiiEvent.bucketDeleted))

    private static let handles = named(
        ("KiiScope/app", KiiScope.app), ("KiiScope/user(_:)", KiiScope.user), ("KiiScope/group(_:)", KiiScope.group),
        ("KiiScope/thing(_:)", KiiScope.thing), ("KiiUser", KiiUser.self), ("KiiGroup", KiiGroup.self),
        ("KiiThing", KiiThing.self), ("KiiTopic", KiiTopic.self), ("KiiBucket", KiiBucket.self),
        ("KiiObject", KiiObject.self), ("KiiGroup/init(uri:)", KiiGroup.init(uri:)),
        ("KiiGroup/topic(_:)", KiiGroup.topic), ("KiiUser/topic(_:)", KiiUser.topic), ("KiiClient.me", \KiiClient.me),
        (
            "KiiClient.refresh(_:)",
            { (client: KiiClient, group: KiiGroup) async throws in try await client.refresh(group) }
        ))

    private static let sending = named(
        ("OutgoingMessage", OutgoingMessage.self), ("OutgoingMessage.init(data:)", OutgoingMessage.init(data:)),
        ("KeyedData", KeyedData.self), ("DataValue.integer(_:)", DataValue.integer(1 as Int)),
        ("DataValue.double(_:)", DataValue.double), ("DataValue.bool(_:)", DataValue.bool(true)),
        ("OutgoingMessage.apns", \OutgoingMessage.apns), ("OutgoingMessage.fcm", \OutgoingMessage.fcm),
        ("OutgoingMessage.mqtt", \OutgoingMessage.mqtt), ("OutgoingMessage.jpush", \OutgoingMessage.jpush),
        ("OutgoingMessage.type", \OutgoingMessage.type), ("APNSFields.isEnabled", \APNSFields.isEnabled),
        ("FCMFields.isEnabled", \FCMFields.isEnabled), ("MQTTFields.isEnabled", \MQTTFields.isEnabled),
        ("APNSFields.data", \APNSFields.data), ("APNSFields.Alert.title", \APNSFields.Alert.title),
        ("APNSFields.Alert.subtitle", \APNSFields.Alert.subtitle), ("APNSFields.Alert.body", \APNSFields.Alert.body),
        ("APNSFields.contentAvailable", \APNSFields.contentAvailable),
        ("APNSFields.mutableContent", \APNSFields.mutableContent), ("APNSFields.category", \APNSFields.category),
        ("SendSwitch.sender", SendSwitch.sender), ("SendSwitch.objectScope", SendSwitch.objectScope),
        ("SendSwitch.topicID", SendSwitch.topicID), ("SendSwitch.when", SendSwitch.when),
        ("SendSwitch.appID", SendSwitch.appID), ("SendSwitch.origin", SendSwitch.origin),
        ("KiiClient.send(_:to:as:)", KiiClient.send(_:to:as:)), ("CloudError", CloudError.self),
        ("RefusedMessage", RefusedMessage.self))

    private static let quickBlox = named(
        ("QuickBloxEvent", QuickBloxEvent.self), ("QuickBloxEvent/encoded", \QuickBloxEvent.encoded),
        ("QuickBloxEvent/init(_:)", { (text: String) throws in try QuickBloxEvent(text) }),
        ("QuickBloxEvent/ios(json:)", QuickBloxEvent.ios), ("QuickBloxEvent/android(_:)", QuickBloxEvent.android),
        ("AppleDictionary/badge", \AppleDictionary.badge), ("AppleDictionary/sound", \AppleDictionary.sound),
        ("AppleDictionary/category", \AppleDictionary.category),
        ("AppleDictionary/contentAvailable", \AppleDictionary.contentAvailable),
        ("AppleDictionary/mutableContent", \AppleDictionary.mutableContent),
        ("DirectPushMessage/quickBlox", \DirectPushMessage.quickBlox), ("QuickBloxPush/userID", \QuickBloxPush.userID),
        ("QuickBloxPush/dialogID", \QuickBloxPush.dialogID))
}
