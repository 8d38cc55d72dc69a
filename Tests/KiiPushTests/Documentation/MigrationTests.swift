import Foundation
import KiiCloud
import KiiPush
import KiiPushAgent
import Testing

/// Holds the guide for readers who know Kii's SDK: each old name is in it, and each new name of it exists.
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

    /// The names of Kii's and QuickBlox's documents, in both languages, each with its successor.
    static let successors: [(String, String)] = [
        ("KiiReceivedMessage", "PushMessage"),
        ("KiiReceivedMessage(fromAPNS:)", "PushMessage/init(_:limits:app:formats:)"),
        ("messageFromAPNS:", "PushMessage/init(_:limits:app:formats:)"), ("rawMessage", "PushMessage/rawObject"),
        ("containsKiiBucket", "PushMessage/bucket"), ("containsKiiObject", "PushMessage/object"),
        ("containsKiiTopic", "PushMessage/topic"), ("eventSourceBucket", "PushMessage/bucket"),
        ("eventSourceObject", "PushMessage/object"), ("eventSourceTopic", "PushMessage/topic"),
        ("eventSourceUser", "PushMessage/scopeUser"), ("eventSourceGroup", "PushMessage/scopeGroup"),
        ("eventSourceThing", "PushMessage/scopeThing"), ("senderUser", "PushMessage/senderUser"),
        ("senderThing", "PushMessage/senderThing"), ("getAlertBody", "PushMessage/alert"),
        ("getValueOfKiiMessageField:", "PushMessage/subscript(_:)"), ("getValueOf(_:)", "PushMessage/subscript(_:)"),
        ("KiiMessageField", "KiiField"), ("messageScope", "PushMessage/scope"),
        ("KiiMessageScope", "PushMessage/scope"), ("KiiMessageScope_UNKNOWN", "MessageScope/Kind-swift.enum/unknown"),
        ("showMessageAlertWithTitle:", "AlertPresenter"),
        (
            "application(_:didReceiveRemoteNotification:fetchCompletionHandler:)",
            "PushReceiver/receive(_:)"
        ), ("completionHandler(.newData)", "Outcome/disposition"), ("KiiMessage_APP_ID", "KiiField/appID"),
        ("KiiMessage_SENDER", "KiiField/sender"), ("KiiMessage_ORIGIN", "KiiField/origin"),
        ("KiiMessage_WHEN", "KiiField/when"), ("KiiMessage_TYPE", "KiiField/type"),
        ("KiiMessage_TOPIC", "KiiField/topic"), ("KiiMessage_SCOPE_APP_ID", "KiiField/scopeAppID"),
        ("KiiMessage_SCOPE_USER_ID", "KiiField/scopeUserID"), ("KiiMessage_SCOPE_GROUP_ID", "KiiField/scopeGroupID"),
        ("KiiMessage_SCOPE_THING_ID", "KiiField/scopeThingID"), ("KiiMessage_SCOPE_TYPE", "KiiField/scopeType"),
        ("KiiMessage_BUCKET_ID", "KiiField/bucketID"), ("KiiMessage_BUCKET_TYPE", "KiiField/bucketType"),
        ("KiiMessage_OBJECT_ID", "KiiField/objectID"),
        ("KiiMessage_OBJECT_MODIFIED_AT", "KiiField/objectModifiedAt"),
        ("DATA_OBJECT_CREATED", "KiiEvent/objectCreated"), ("DATA_OBJECT_UPDATED", "KiiEvent/objectUpdated"),
        ("DATA_OBJECT_DELETED", "KiiEvent/objectDeleted"), ("DATA_OBJECT_BODY_UPDATE", "KiiEvent/objectBodyUpdated"),
        ("DATA_OBJECT_BODY_DELETED", "KiiEvent/objectBodyDeleted"),
        ("DATA_OBJECT_ACL_MODIFIED", "KiiEvent/objectACLModified"), ("BUCKET_DELETED", "KiiEvent/bucketDeleted"),
        ("APP_AND_USER", "KiiScope/user(_:)"), ("APP_AND_GROUP", "KiiScope/group(_:)"),
        ("APP_AND_THING", "KiiScope/thing(_:)"), ("APP", "KiiScope/app"), ("KiiUser", "KiiUser"),
        ("KiiGroup", "KiiGroup"), ("KiiThing", "KiiThing"), ("KiiTopic", "KiiTopic"), ("KiiBucket", "KiiBucket"),
        ("KiiObject", "KiiObject"), ("KiiGroup(uri:)", "KiiGroup/init(uri:)"), ("groupWithURI:", "KiiGroup/init(uri:)"),
        ("group.topic(withName:)", "KiiGroup/topic(_:)"), ("user.topic(withName:)", "KiiUser/topic(_:)"),
        ("topicWithName:", "KiiGroup/topic(_:)"), ("KiiUser.current()", "KiiClient.me"),
        ("refreshSynchronous()", "KiiClient.refresh(_:)"), ("refreshSynchronous:", "KiiClient.refresh(_:)"),
        ("refreshWithBlock:", "KiiClient.refresh(_:)"), ("refresh(_:)", "KiiClient.refresh(_:)"),
        ("KiiPushMessage", "OutgoingMessage"), ("composeMessage(with:)", "OutgoingMessage.init(data:)"),
        ("composeMessage(withData:)", "OutgoingMessage.init(data:)"),
        ("composeMessageWithData:", "OutgoingMessage.init(data:)"), ("NSNumber", "DataValue.integer(_:)"),
        ("[AnyHashable: Any]", "KeyedData"), ("NSMutableDictionary", "KeyedData"),
        ("KiiAPNSFields", "OutgoingMessage.apns"), ("KiiAPNSFields.create()", "OutgoingMessage.apns"),
        ("createFields", "OutgoingMessage.apns"), ("apnsFields", "OutgoingMessage.apns"),
        ("KiiGCMFields", "OutgoingMessage.fcm"), ("gcmFields", "OutgoingMessage.fcm"),
        ("KiiMQTTFields", "OutgoingMessage.mqtt"), ("KiiJPushFields", "OutgoingMessage.jpush"),
        ("setAPNSEnabled(_:)", "APNSFields.isEnabled"), ("setAPNSEnabled:", "APNSFields.isEnabled"),
        ("setGCMEnabled(_:)", "FCMFields.isEnabled"), ("setGCMEnabled:", "FCMFields.isEnabled"),
        ("setMQTTEnabled(_:)", "MQTTFields.isEnabled"), ("setMQTTEnabled:", "MQTTFields.isEnabled"),
        ("setSpecificData(_:)", "APNSFields.data"), ("setSpecificData:", "APNSFields.data"),
        ("alertTitle", "APNSFields.Alert.title"), ("setAlertTitle:", "APNSFields.Alert.title"),
        ("alertSubtitle", "APNSFields.Alert.subtitle"), ("setAlertSubtitle:", "APNSFields.Alert.subtitle"),
        ("alertBody", "APNSFields.Alert.body"), ("setAlertBody:", "APNSFields.Alert.body"),
        ("contentAvailable", "APNSFields.contentAvailable"), ("setContentAvailable:", "APNSFields.contentAvailable"),
        ("mutableContent", "APNSFields.mutableContent"), ("setMutableContent:", "APNSFields.mutableContent"),
        ("category", "APNSFields.category"), ("setCategory:", "APNSFields.category"),
        ("sendSender", "SendSwitch.sender"), ("setSendSender:", "SendSwitch.sender"),
        ("sendObjectScope", "SendSwitch.objectScope"), ("setSendObjectScope:", "SendSwitch.objectScope"),
        ("sendTopicID", "SendSwitch.topicID"), ("setSendTopicID:", "SendSwitch.topicID"),
        ("sendWhen", "SendSwitch.when"), ("setSendWhen:", "SendSwitch.when"), ("sendAppID", "SendSwitch.appID"),
        ("sendOrigin", "SendSwitch.origin"), ("pushMessageType", "OutgoingMessage.type"),
        ("sendMessageSynchronous(_:)", "KiiClient.send(_:to:as:)"),
        ("sendMessageSynchronous:withError:", "KiiClient.send(_:to:as:)"),
        ("sendMessage:withBlock:", "KiiClient.send(_:to:as:)"), ("topic.send(_:with:)", "KiiClient.send(_:to:as:)"),
        ("NSError", "CloudError"), ("event.message", "QuickBloxEvent/encoded"), ("event.push_type", "QuickBloxEvent"),
        ("payload=", "QuickBloxEvent/ios(json:)"), ("data.message", "QuickBloxEvent/android(_:)"),
        ("ios_badge", "AppleDictionary/badge"), ("ios_sound", "AppleDictionary/sound"),
        ("ios_category", "AppleDictionary/category"), ("ios_content_available", "AppleDictionary/contentAvailable"),
        ("ios_mutable_content", "AppleDictionary/mutableContent"), ("ios_voip", "DirectPushMessage/quickBlox"),
        ("collapse_key", "PushMessage/rawObject"), ("user_id", "QuickBloxPush/userID"),
        ("onMessage", "PushReceiver/receive(_:)"),
    ]

    @Test("each old name is in the first column of a row whose second column has its successor", arguments: successors)
    func successor(_ old: String, _ new: String) {
        #expect(Self.rows.contains { $0.old.contains(old) && $0.new.contains(new) })
    }

    @Test("each new name exists")
    func exists() {
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
