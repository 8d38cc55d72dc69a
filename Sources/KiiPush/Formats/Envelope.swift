/// Extracts a payload from a network's envelope, and determines its dialect.
///
/// - JPush delivers extras: the payload is the JSON in `cn.jpush.android.MESSAGE`, else in `.EXTRA`, else the extras.
/// - FCM's own message object has the payload under `data`, at its root or inside `message`; the objects of client
///   libraries have it under a key of their own.
///
/// A stated transport decides which envelope is expected; without one, the body does.
struct Envelope {
    /// The payload's text.
    let text: [UInt8]
    let root: RootMembers
    let dialect: Dialect
    let messageID: NetworkID?

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

    /// Replaces a payload and its root by those that it wraps, if it is an envelope; returns the network's id.
    // Takes all that it changes, because a result that is assigned would be copied, and a root has 300 bytes.
    static func remove(
        _ buffer: inout [UInt8], _ root: inout RootMembers, _ dialect: inout Dialect, _ raw: inout RawPayload,
        _ format: Transport.Format, _ limits: PayloadLimits
    ) throws(DecodeError) -> NetworkID? {
        guard let envelope = try open(root, buffer, format, limits) else { return nil }
        raw.bytes = buffer
        (buffer, root, dialect) = (envelope.text, envelope.root, envelope.dialect)
        return envelope.messageID
    }

    // MARK: JPush

    private static func jpush(
        _ outer: RootMembers, _ bytes: [UInt8], _ limits: PayloadLimits
    ) throws(DecodeError) -> Envelope {
        let id = Self.text(outer.wrapped.jpushID, bytes).map { NetworkID(network: .jpush, id: $0) }
        for (name, token) in [("MESSAGE", outer.wrapped.jpushMessage), ("EXTRA", outer.wrapped.jpushExtra)] {
            guard let (text, root) = try object(in: token, called: name, bytes, limits) else { continue }
            return Envelope(text: text, root: root, dialect: .jpush, messageID: id)
        }
        if !outer.mayBeKiis, let envelope = try wrapped(bytes, .jpush, limits) { return envelope }
        return Envelope(text: bytes, root: outer, dialect: .jpush, messageID: id)
    }

    /// The object that a string holds as JSON; nil for any other text, which a sender may have typed.
    ///
    /// - Throws: `duplicateKey` or `limitExceeded` for an object that cannot be a payload: reading the extras instead
    ///   would change its kind.
    private static func object(
        in token: JSONToken, called name: String, _ bytes: [UInt8], _ limits: PayloadLimits
    ) throws(DecodeError) -> (text: [UInt8], root: RootMembers)? {
        guard token.kind == .string else { return nil }
        let inner = token.bytes(in: bytes.span)
        do throws(DecodeError) {
            return (inner, try RootMembers(inner.span, limits: limits))
        } catch {
            let isObject = inner.first { $0 > 0x20 } == UInt8(ascii: "{")
            guard isObject, error.code == .duplicateKey || error.code == .limitExceeded else { return nil }
            // The error's offset refers to the unescaped text; the caller has the escaped one.
            let detail = "in \(WrappedMembers.jpush)\(name), at byte \(error.offset) of its text: \(error.detail)"
            throw DecodeError(error.code, at: Int(token.start), detail)
        }
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
    /// inside show that it is not. Kii's senders cannot send objects, but texts: so texts count only without a stated
    /// transport. A duplicate key in the payload is an error, as without an envelope: as a sender's data, it would be
    /// another kind of message.
    private static func wrapped(
        _ bytes: [UInt8], _ format: Transport.Format, _ limits: PayloadLimits
    ) throws(DecodeError) -> Envelope? {
        for (index, place) in places.enumerated() {
            let token = value(at: place[...], bytes.span, 0)
            guard token.kind == .object || token.kind == .string && format == .unknown else { continue }
            let isFCMs = format == .fcm && index < fcmPlaces
            if format == .jpush, index < fcmPlaces { continue }
            guard let envelope = try payload(in: token, at: place, bytes, isFCMs ? nil : format, limits) else {
                continue
            }
            return envelope
        }
        return nil
    }

    /// The payload that a value holds as an object, or as the JSON text of one; nil for any other value.
    ///
    /// Without a format, it is FCM's own.
    private static func payload(
        in token: JSONToken, at place: [String], _ bytes: [UInt8], _ format: Transport.Format?, _ limits: PayloadLimits
    ) throws(DecodeError) -> Envelope? {
        let inner = token.kind == .string ? token.bytes(in: bytes.span) : Array(bytes[token.range])
        var root = RootMembers()
        var failure: DecodeError?
        do throws(DecodeError) {
            try root.read(inner.span, limits: limits)
        } catch {
            failure = error
        }
        guard let dialect = format.map({ root.wrappedDialect($0, inner.span) }) ?? .long else { return nil }
        if let failure {
            let name = place.joined(separator: ".")
            guard token.kind == .string else {
                throw DecodeError(failure.code, at: Int(token.start) + failure.offset, "in \(name): \(failure.detail)")
            }
            // Any other text is a sender's own.
            guard failure.code == .duplicateKey || failure.code == .limitExceeded else { return nil }
            let detail = "in \(name), at byte \(failure.offset) of its text: \(failure.detail)"
            throw DecodeError(failure.code, at: Int(token.start), detail)
        }
        let id = ObjectMembers.value(of: NetworkKeys.fcmMessageID, bytes.span)?.idText.map {
            NetworkID(network: .fcm, id: $0)
        }
        return Envelope(text: inner, root: root, dialect: dialect, messageID: id)
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
    /// Whether there is any of these.
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
