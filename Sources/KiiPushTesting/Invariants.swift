public import KiiPush

/// Invariants that hold for every input, including hostile ones.
///
/// The fuzz programs check them for millions of inputs, and the tests for every input that was kept, so that a bug
/// found by a fuzzer stays fixed.
@_spi(Hostile)
public enum Invariants {
    /// An invariant that an input broke; names the invariant, and nothing of the input.
    public struct Broken: Error, CustomStringConvertible {
        /// The broken invariant.
        public let description: String
    }

    /// Decodes any bytes, as from each transport that affects decoding and from none, and reads every property.
    ///
    /// - Throws: the broken invariant.
    public static func check(payload bytes: [UInt8]) throws(Broken) {
        for transport in [nil, .apns, .fcm, .jpush, .mqtt, .quickblox] as [Transport?] {
            try check(RawPayload(bytes, transport: transport))
            try check(RawPayload(bytes, transport: transport), formats: .shipped.adding(MirrorFormat()))
        }
    }

    /// Decodes one payload: the result is a valid message, or an error with a position inside the payload.
    ///
    /// - Throws: the broken invariant.
    public static func check(_ payload: RawPayload, formats: PayloadFormats = .shipped) throws(Broken) {
        let message: PushMessage
        do throws(DecodeError) {
            message = try PushMessage(payload, app: "0123abcd", formats: formats)
        } catch {
            try hold((0...payload.bytes.count).contains(error.offset), "an error is inside the payload")
            try hold(error.description.contains(exactly: error.code.rawValue), "an error says its code")
            return
        }
        try hold(message.raw == payload, "a message keeps its payload as it was")
        try checkKind(message)
        try checkHandles(message)
        try checkContent(message)
        try checkKeys(message)
    }

    /// Parses any text as a `kiicloud://` URI; a valid one prints unchanged.
    ///
    /// - Throws: the broken invariant.
    public static func check(uri text: String) throws(Broken) {
        if let uri = KiiURI(text) {
            try hold(uri.description.utf8.elementsEqual(text.utf8), "a URI prints as it was read")
            try hold(KiiURI(uri.description) == uri, "a printed URI reads as the same one")
        }
        if let target = KillTarget(text) {
            try hold(target.description.utf8.elementsEqual(text.utf8), "a target prints as it was typed")
        }
    }

    /// Parses any text as QuickBlox's `event.message`; a valid one survives encoding and decoding.
    ///
    /// - Throws: the broken invariant.
    public static func check(quickBloxEvent text: String) throws(Broken) {
        let event: QuickBloxEvent
        do throws(DecodeError) {
            event = try QuickBloxEvent(text)
        } catch {
            return try hold((0...text.utf8.count).contains(error.offset), "an error is inside the text")
        }
        let again = try? QuickBloxEvent(event.encoded)
        try hold(again?.encoded == event.encoded, "an event that was encoded reads as the same one")
    }

    fileprivate static func hold(_ condition: Bool, _ invariant: String) throws(Broken) {
        if !condition { throw Broken(description: invariant) }
    }
}

extension Invariants {
    fileprivate static func checkKind(_ message: PushMessage) throws(Broken) {
        let classification = message.classification
        try hold(classification.kind == message.kind, "a classification has the message's kind")
        try hold(classification.certainty == message.certainty, "a classification has the message's certainty")
        try hold(
            (message.certainty == .ambiguous) == !classification.conflicts.isEmpty,
            "a message is ambiguous just when it has conflicts")
        try hold(
            message.certainty != .likely || message.kind == .directPush && classification.evidence.isEmpty
                || message.kind == .pushToUser && message[.topic] == nil,
            "only a Direct Push by absence is likely, and a Push to User without its topic")
        try hold(
            message.kind == .directPush || !classification.evidence.isEmpty,
            "a kind other than Direct Push has evidence")
        try hold((PushToAppMessage(message) != nil) == (message.kind == .pushToApp), "a Push to App is viewed as one")
        try hold(
            (PushToUserMessage(message) != nil) == (message.kind == .pushToUser), "a Push to User is viewed as one")
        try hold((DirectPushMessage(message) != nil) == (message.kind == .directPush), "a Direct Push is viewed as one")
    }

    fileprivate static func checkHandles(_ message: PushMessage) throws(Broken) {
        try hold(message.bucket == nil || message.kind == .pushToApp, "only a Push to App has a bucket")
        try hold(message.topic == nil || message.kind == .pushToUser, "only a Push to User has a topic")
        try hold(message.object == nil || message.object?.bucket == message.bucket, "an object is in its bucket")
        if let scope = message.bucket?.scope ?? message.topic?.scope {
            try hold(message.scope.owner == scope, "a bucket and a topic are in the message's scope")
        }
        try hold((BucketEvent(message)?.bucket) == message.bucket, "a bucket's event has the bucket")
        try hold((ObjectEvent(message)?.object) == message.object, "an object's event has the object")
        try hold((TopicMessage(message)?.topic) == message.topic, "a topic's message has the topic")
    }

    fileprivate static func checkContent(_ message: PushMessage) throws(Broken) {
        for field in KiiField.allCases {
            try hold(message[field]?.utf8.contains { $0 > 0x20 } ?? true, "a field that is there is not blank")
        }
        try hold(
            message.sentAt == nil || message[.when] != nil || message.format != nil, "a time is in its field")
        try hold(message.modifiedAt == nil || message[.objectModifiedAt] != nil, "a time is in its field")
        _ = (message.alert, message.aps?.isSilent, message.appID, message.event)

        try checkDictionary(message)
        let members = message.data.members
        try hold(members.map(\.key) == message.data.keys, "data has the keys of its members")
        try hold(members.isEmpty == message.data.isEmpty, "data without members is empty")
        for (key, value) in members {
            try hold(message.data[key] == value, "a member of the data is found under its key")
            _ = (value.string, value.integer, value.double, value.bool, value["k"], value[0])
            try checkReadBack(value)
        }
        _ = try? message.data.decode([String: String].self)

        guard let direct = DirectPushMessage(message) else { return }
        try hold((direct.command != nil) == (message.dialect == .thingIF), "a command is what Thing-IF sends")
        try hold((direct.quickBlox != nil) == (message.format == "quickblox"), "QuickBlox's is what QuickBlox sends")
        try hold((message.format != nil) == (message.dialect == .foreign), "a format has no dialect of Kii's")
        try hold((ForeignPushMessage(message) != nil) == (message.format != nil), "a format's push is viewed as one")
        try hold(direct.command?.actions.isEmpty != true, "a command has an action")
        _ = (direct.completedCommandID, direct.quickBlox?.call?.participants)
    }

    private static func checkDictionary(_ message: PushMessage) throws(Broken) {
        guard case .object = message.rawObject else { throw Broken(description: "a payload is an object") }
        guard let aps = message.aps else { return }
        try hold(aps.members.map(\.key) == aps.keys, "Apple's dictionary has the keys of its members")
        for (key, value) in aps.members {
            try hold(aps[key] == value, "a member of Apple's dictionary is found under its key")
        }
    }

    /// Encoding a decoded value and decoding it again gives the same value.
    private static func checkReadBack(_ value: DataValue) throws(Broken) {
        try hold(DataValue(json: value.jsonText) == value, "a value that was written reads as the same one")
    }

    fileprivate static func checkKeys(_ message: PushMessage) throws(Broken) {
        let secret = DedupeSecret(1, 2)
        let keys = message.dedupeKeys(app: "a", secret: secret)
        try hold(keys == message.dedupeKeys(app: "a", secret: secret), "a message has the same keys each time")
        try hold(
            message.certainty != .ambiguous || keys.strength == .weak && keys.secondary == nil,
            "an ambiguous message has a weak key, so that it can hide no other")
    }
}

/// Claims every other payload, and returns as much of it as a format can: what the receiver bounds is then any input.
private struct MirrorFormat: PayloadFormat {
    let name = "mirror"

    func recognise(_ payload: borrowing PayloadView) -> Evidence? {
        payload.bytes.count % 2 == 0 ? Evidence(payload.members.map(\.key)) : nil
    }

    func read(_ payload: borrowing PayloadView) throws(DecodeError) -> ForeignPush {
        let text = payload.text
        if let text, text.utf8.count % 8 == 6 { throw DecodeError(.badEncoding, at: text.utf8.count * 2, text) }
        var push = ForeignPush(
            id: text, source: text, type: text, subject: text, sentAt: Int64(payload.bytes.count),
            alert: Alert(title: text, subtitle: nil, body: nil), data: text.map { .json($0) } ?? .payload)
        push.ownKeys = payload.members.map(\.key)
        if case .object(let members)? = payload.json { push.apple = members }
        return push
    }
}
