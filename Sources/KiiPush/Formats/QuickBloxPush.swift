/// The contents of a QuickBlox push: a text, a chat, or a call.
///
/// ``DirectPushMessage/quickBlox`` returns it; ``QuickBloxFormat`` says which payloads are one.
public struct QuickBloxPush: Sendable, Hashable {
    /// The text to show: iOS's alert, or Android's message with its form escapes decoded.
    ///
    /// Android's message is escaped only if the sender escaped it, so a literal `+` cannot be distinguished from a
    /// space; compare with ``rawText``.
    public let text: String?

    /// The text as received.
    public let rawText: String?

    /// The user that the push is from or about.
    public let userID: String?

    /// The chat that has a message for an offline user.
    public let dialogID: String?

    /// The call, if it is one.
    public let call: QuickBloxCall?

    /// Whether the sender asks for a VoIP push on iOS: `ios_voip` is 1.
    public let isVoIP: Bool

    /// The keys that only QuickBlox sends.
    enum Marks {
        static let all = [voipCall, iosVoIP, dialogID, collapseKey]
        static let voipCall = "VOIPCall"
        static let iosVoIP = "ios_voip"
        static let dialogID = "dialog_id"
        /// `event` and digits, set by QuickBlox's server.
        static let collapseKey = "collapse_key"
    }

    /// The name of a root member's key, if only QuickBlox sends such a member: a call's marks are 1, and ids not blank.
    static func mark(_ text: Span<UInt8>, _ key: JSONToken, _ value: JSONToken) -> String? {
        guard value.kind == .string || value.kind == .number else { return nil }
        for mark in [Marks.voipCall, Marks.iosVoIP] where key.matches(mark.utf8.span, in: text) {
            return DataValue(text, value).bool == true ? mark : nil
        }
        if key.matches(Marks.dialogID.utf8.span, in: text) {
            return DataValue(text, value).idText == nil ? nil : Marks.dialogID
        }
        guard key.matches(Marks.collapseKey.utf8.span, in: text), value.kind == .string else { return nil }
        return isEvent(value.string(in: text)) ? Marks.collapseKey : nil
    }

    private static func isEvent(_ value: String) -> Bool {
        value.begins(exactlyWith: "event") && value.utf8.count > 5 && value.utf8.dropFirst(5).allSatisfy { $0.isDigit }
    }

    init(_ member: (String) -> DataValue?, alert: Alert?) {
        let message = member("message")?.string
        // The Flutter sample's calls have the text here.
        let body = member("body")?.string
        rawText = alert?.body ?? message ?? body
        text = alert?.body ?? message.map { FormText.decode($0) ?? $0 } ?? body
        userID = member("user_id")?.string
        dialogID = member(Marks.dialogID)?.string
        call = QuickBloxCall(member)
        isVoIP = member(Marks.iosVoIP)?.bool ?? false
    }
}

/// A call, in the format of QuickBlox's samples.
///
/// There are two dialects in which `conferenceType` means opposite things: the native samples write `sessionID` and
/// have `1` for video, the Flutter sample writes `sessionId` and has `2`. Drop a call that is too old to answer.
public struct QuickBloxCall: Sendable, Hashable {
    /// The call's session.
    public let sessionID: String
    /// The participants, the caller first.
    public let participants: [String]
    /// Their names, in the same order; a name with a comma in it breaks the native samples' list.
    public let names: [String]
    /// Whether the call has video; nil if the payload does not say.
    public let isVideo: Bool?
    /// When the call was made, in milliseconds since 1970.
    public let calledAt: Int64?

    init?(_ member: (String) -> DataValue?) {
        let type = member("conferenceType")?.integer
        if let session = member("sessionID")?.string, !session.isEmpty {
            sessionID = session
            participants = member("opponentsIDs")?.string?.listedByCommas ?? []
            names = member("contactIdentifier")?.string?.listedByCommas ?? []
            isVideo = type == 1 ? true : type == 2 ? false : nil
        } else if let session = member("sessionId")?.string, !session.isEmpty {
            sessionID = session
            let caller = member("senderId")?.string
            let listed = member("recipientIds")?.string?.listedByCommas ?? []
            participants = (caller.map { [$0] } ?? []) + listed.filter { caller?.isExactly($0) != true }
            names = member("senderName")?.string.map { [$0] } ?? []
            isVideo = type == 2 ? true : type == 1 ? false : nil
        } else {
            return nil
        }
        calledAt = member("timestamp").flatMap { $0.milliseconds ?? $0.string.flatMap(Self.milliseconds) }
    }

    /// Reads the time of older samples, `yyyy-MM-dd HH:mm:ss`, as UTC.
    private static func milliseconds(_ text: String) -> Int64? {
        let parts = text.split(separator: " ", omittingEmptySubsequences: false)
        guard text.utf8.count == 19, parts.count == 2 else { return nil }
        return RFC3339.milliseconds("\(parts[0])T\(parts[1])Z")
    }
}
