/// Extracts a payload from a network's envelope, and determines its dialect.
///
/// A stated transport decides which one is expected; without one, the body does. JPush delivers extras: the payload is
/// the JSON in `cn.jpush.android.MESSAGE`, else in `.EXTRA`, else the extras.
struct Envelope {
    let text: [UInt8]
    let root: RootMembers
    let dialect: Dialect
    var messageID: NetworkID?

    /// Extracts the payload that `outer` wraps; nil if it is not an envelope, the common case.
    ///
    /// - Throws: `duplicateKey` if the extracted payload has a duplicate key.
    static func open(
        _ outer: RootMembers, _ text: [UInt8], _ format: Transport.Format, _ limits: PayloadLimits
    ) throws(DecodeError) -> Envelope? {
        if format == .jpush || format == .unknown && outer.wrapped.isJPush {
            return try jpush(outer, text, limits)
        }
        if outer.mayBeKiis || format == .mqtt { return nil }
        if format == .apns, !outer.fields(in: .apns).isEmpty { return nil }
        return try wrapped(text, format, limits)
    }

    // MARK: JPush

    private static func jpush(
        _ outer: RootMembers, _ bytes: [UInt8], _ limits: PayloadLimits
    ) throws(DecodeError) -> Envelope {
        let id = Self.text(outer.wrapped.jpushID, bytes).map { NetworkID(id: $0, isJPush: true) }
        for (name, token) in [("MESSAGE", outer.wrapped.jpushMessage), ("EXTRA", outer.wrapped.jpushExtra)]
        where token.kind == .string {
            let found = try payload(in: token, at: [WrappedMembers.jpush + name], bytes, limits) { _, _ in .jpush }
            if var found {
                found.messageID = id
                return found
            }
        }
        if !outer.mayBeKiis, let envelope = try wrapped(bytes, .jpush, limits) { return envelope }
        return Envelope(text: bytes, root: outer, dialect: .jpush, messageID: id)
    }

    private static func text(_ token: JSONToken, _ bytes: [UInt8]) -> String? {
        guard token.kind == .string || token.kind == .number else { return nil }
        let text = token.string(in: bytes.span)
        return text.isEmpty ? nil : text
    }

    // MARK: FCM and client libraries

    /// Where client libraries of the networks put the payload, in the order in which they are searched.
    ///
    /// FCM's message object, and what React Native, Flutter, Capacitor, Cordova, Expo, Titanium and JPush's plug-ins
    /// pass to an app's code. FCM's own are first.
    private static let places: [[String]] = [
        ["data"], ["message", "data"], ["additionalData"], ["notification", "data"],
        ["notification", "additionalData"],
        ["extras"], ["userInfo"], ["notification", "userInfo"], ["request", "content", "data"],
        ["request", "content", "userInfo"], ["notification", "request", "content", "data"],
        ["notification", "request", "content", "userInfo"], ["notification", "extras"],
    ]
    private static let fcmPlaces = 2

    /// The payload in an object that has none of Kii's keys itself: FCM's message object, or a client library's.
    ///
    /// Over FCM, its own object has the payload, whatever its keys. Any other object may be a sender's own; Kii's keys
    /// inside show that it is not. Kii's senders can send texts, so texts count only without a stated transport.
    private static func wrapped(
        _ bytes: [UInt8], _ format: Transport.Format, _ limits: PayloadLimits
    ) throws(DecodeError) -> Envelope? {
        for (index, place) in places.enumerated() {
            let token = value(at: place[...], bytes.span, 0)
            let isFCMs = index < fcmPlaces
            guard token.kind == .object || token.kind == .string && format == .unknown, !isFCMs || format != .jpush
            else { continue }
            let found = try payload(in: token, at: place, bytes, limits) { root, text in
                isFCMs && format == .fcm ? .long : root.wrappedDialect(format, text)
            }
            if var found {
                found.messageID =
                    ObjectMembers.value(of: NetworkKeys.fcmMessageID, bytes.span)?.idText.map { NetworkID(id: $0) }
                return found
            }
        }
        return nil
    }

    // MARK: Both

    /// The payload that a value holds as an object, or as the JSON text of one; nil for any other value, which a sender
    /// may have typed, and if it has no dialect.
    ///
    /// - Throws: `DecodeError` for an object that cannot be a payload: as a sender's data, it would be another kind of
    ///   message.
    private static func payload(
        in token: JSONToken, at place: [String], _ bytes: [UInt8], _ limits: PayloadLimits,
        _ dialect: (RootMembers, Span<UInt8>) -> Dialect?
    ) throws(DecodeError) -> Envelope? {
        let inner = token.kind == .string ? token.bytes(in: bytes.span) : Array(bytes[token.range])
        var root = RootMembers()
        var failure: DecodeError?
        do throws(DecodeError) { try root.read(inner.span, limits: limits) } catch { failure = error }
        guard let dialect = dialect(root, inner.span) else { return nil }
        guard let failure else { return Envelope(text: inner, root: root, dialect: dialect) }
        let name = place.joined(separator: ".")
        guard token.kind == .string else {
            throw DecodeError(failure.code, at: Int(token.start) + failure.offset, "in \(name): \(failure.detail)")
        }
        let isObject = inner.first { $0 > 0x20 } == UInt8(ascii: "{")
        guard isObject, failure.code == .duplicateKey || failure.code == .limitExceeded else { return nil }
        // The error's offset refers to the unescaped text; the caller has the escaped one.
        let detail = "in \(name), at byte \(failure.offset) of its text: \(failure.detail)"
        throw DecodeError(failure.code, at: Int(token.start), detail)
    }

    /// The value under a path of keys in the object at an offset, the first of duplicates; absent without one.
    private static func value(at path: ArraySlice<String>, _ text: Span<UInt8>, _ offset: Int) -> JSONToken {
        guard let name = path.first else { return .absent }
        var members = ObjectMembers(text, at: offset)
        while let (key, value) = members.next(text) {
            guard key.matches(name.utf8.span, in: text) else { continue }
            if path.count == 1 { return value }
            return value.kind == .object ? Self.value(at: path.dropFirst(), text, Int(value.start)) : .absent
        }
        return .absent
    }
}

/// The root members by which an envelope is recognised, recorded while the payload is read.
struct WrappedMembers {
    private(set) var jpushMessage = JSONToken.absent
    private(set) var jpushExtra = JSONToken.absent
    private(set) var jpushID = JSONToken.absent
    private(set) var isJPush = false
    /// Whether there is an object, or a text that may be one, in which a payload may be.
    private(set) var hasObject = false
    var isAny: Bool { isJPush || hasObject }

    /// Whether a member could be one of these; a cheap test.
    static func isCandidate(_ key: JSONToken, _ value: JSONToken) -> Bool {
        value.kind == .object || value.hasEscapes || key.range.count > Self.jpush.utf8.count
    }

    static let jpush = "cn.jpush.android."

    mutating func note(_ text: Span<UInt8>, _ key: JSONToken, _ value: JSONToken) {
        // An object in a string has escapes, since its keys are quoted.
        if value.kind == .object || value.hasEscapes && text[Int(value.start)] == UInt8(ascii: "{") { hasObject = true }
        if key.hasEscapes {
            let name = key.bytes(in: text)
            noteJPush(name.span, 0..<name.count, value)
        } else {
            noteJPush(text, key.range, value)
        }
    }

    private mutating func noteJPush(_ text: Span<UInt8>, _ range: Range<Int>, _ value: JSONToken) {
        guard text.begins(range, with: Self.jpush) else { return }
        isJPush = true
        let name = (range.lowerBound + Self.jpush.utf8.count)..<range.upperBound
        if text.matches(name, "MESSAGE") { jpushMessage = value }
        if text.matches(name, "EXTRA") { jpushExtra = value }
        if text.matches(name, "MSG_ID") { jpushID = value }
    }
}
