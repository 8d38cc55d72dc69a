/// QuickBlox's pushes: recognised by their transport, or by a key that only QuickBlox sends.
///
/// Over its transport, a payload that is not JSON is a sender's `event.message` in one of the encodings of
/// ``QuickBloxEvent``. The contents are in ``DirectPushMessage/quickBlox``.
public struct QuickBloxFormat: PayloadFormat {
    /// Makes the format.
    public init() {}

    /// `quickblox`.
    public var name: String { Self.name }
    /// `quickblox`, too.
    public var transport: Transport? { .quickblox }

    static let name = "quickblox"

    /// Recognises a payload by its transport, or by QuickBlox's own keys.
    public func recognise(_ payload: borrowing PayloadView) -> Evidence? {
        let isStated = payload.transport == .quickblox
        if payload.isObject {
            let marks = Self.marks(payload)
            return marks.isEmpty && !isStated ? nil : Evidence(marks, isWeak: true)
        }
        guard isStated, Self.mayBeEvent(payload) else { return nil }
        guard let json = (try? Self.event(payload))?.payload else { return Evidence() }
        return Evidence(Self.marks(PayloadView(json: json)))
    }

    /// Reads the text to show, and the chat, the caller or the user that it is about.
    ///
    /// - Throws: ``DecodeError`` with the code `badEncoding` for a broken `event.message`.
    public func read(_ payload: borrowing PayloadView) throws(DecodeError) -> ForeignPush {
        if payload.isObject {
            return push(.payload, payload.members)
        }
        let json = try Self.event(payload).payload
        guard case .object(let members)? = DataValue(json: json) else { return ForeignPush(data: .json(json)) }
        var push = push(.json(json), members)
        PayloadView(json: json).forEach { text, key, _ in
            // As in a payload that is JSON.
            let isData = key.rootKey(in: text)?.isData(in: .foreign) ?? !NetworkKeys.isAdded(text, key)
            if !isData { push.ownKeys.append(key.string(in: text)) }
        }
        return push
    }

    /// The parameters of an event for iOS, with the keys of Apple's dictionary that they correspond to.
    ///
    /// QuickBlox's server translates them for iOS. A payload that still has one is the sender's own text, so it moves
    /// from the data to ``PushMessage/aps``, or to ``QuickBloxPush/isVoIP``. From QuickBlox's reference of formats.
    private static let parameters: [(key: String, appleKey: String?)] = [
        ("ios_badge", "badge"), ("ios_sound", "sound"), ("ios_category", "category"),
        ("ios_content_available", "content-available"), ("ios_mutable_content", "mutable-content"),
        (QuickBloxPush.Marks.iosVoIP, nil),
    ]

    private func push(
        _ data: ForeignPush.Contents, _ members: [(key: String, value: DataValue)]
    ) -> ForeignPush {
        let contents = QuickBloxPush(members.value, alert: nil)
        let party = (contents.call?.participants.first ?? contents.userID).map { "user:\($0)" }
        var push = ForeignPush(
            subject: contents.dialogID ?? party,
            alert: contents.text.map { Alert(title: nil, subtitle: nil, body: $0) }, data: data)
        push.ownKeys = Self.parameters.map(\.key)
        for (key, value) in members where value != .null {
            guard let name = Self.parameters.first(where: { $0.key.isExactly(key) })?.appleKey else { continue }
            push.apple.append((name, value))
        }
        return push
    }

    private static func event(_ payload: borrowing PayloadView) throws(DecodeError) -> QuickBloxEvent {
        let bytes = payload.bytes
        let text: String
        do throws(UTF8.ValidationError) { text = String(copying: try UTF8Span(validating: bytes.span)) } catch {
            throw DecodeError(.invalidUTF8, at: error.byteOffsets.lowerBound, "these bytes are not UTF-8")
        }
        return try QuickBloxEvent(text)
    }

    private static func marks(_ payload: borrowing PayloadView) -> [String] {
        guard QuickBloxPush.Marks.all.contains(where: { payload.has($0) }) else { return [] }
        var marks: [String] = []
        payload.forEach { text, key, value in
            if let mark = QuickBloxPush.mark(text, key, value) { marks.append(mark) }
        }
        return marks
    }

    /// Whether a payload begins like a QuickBlox sender's text: a JSON object does not, and Base64 of UTF-8 never
    /// begins with `+` or `/`.
    private static func mayBeEvent(_ payload: borrowing PayloadView) -> Bool {
        guard let first = payload.bytes.first(where: { $0 > 0x20 }) else { return false }
        return first.isDigit || first.isASCIILetter
    }
}

extension Transport {
    /// QuickBlox, whose pushes are not Kii pushes and count as Direct Push.
    public static let quickblox: Transport = "quickblox"
}
