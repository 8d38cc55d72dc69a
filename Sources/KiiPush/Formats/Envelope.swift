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
        if format == .jpush || format == .unknown && outer.hasJPush { return try jpush(outer, text, limits) }
        if outer.mayBeKiis || format == .mqtt { return nil }
        if format == .apns, !outer.fields(in: .apns).isEmpty { return nil }
        return try wrapped(text, format, limits)
    }

    // MARK: JPush

    private static func jpush(
        _ outer: RootMembers, _ bytes: [UInt8], _ limits: PayloadLimits
    ) throws(DecodeError) -> Envelope {
        let id = ObjectMembers.value(of: NetworkKeys.jpush + "MSG_ID", bytes.span)?.idText.map {
            NetworkID(id: $0, isJPush: true)
        }
        for name in [NetworkKeys.jpush + "MESSAGE", NetworkKeys.jpush + "EXTRA"] {
            guard let token = ObjectMembers.token(of: name, bytes.span), token.kind == .string else { continue }
            if var found = try payload(in: token, at: [name], bytes, limits, { _, _ in .jpush }) {
                found.messageID = id
                return found
            }
        }
        if !outer.mayBeKiis, let envelope = try wrapped(bytes, .jpush, limits) { return envelope }
        return Envelope(text: bytes, root: outer, dialect: .jpush, messageID: id)
    }

    // MARK: FCM and client libraries

    /// Where client libraries of the networks put the payload, in the order in which they are searched.
    ///
    /// FCM's message object, and what React Native, Flutter, Capacitor, Cordova, Expo and JPush's plug-ins pass to an
    /// app's code. FCM's own are first.
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
            let token = value(at: place, bytes.span)
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

    /// The value under a path of keys, the first of duplicates; absent without one.
    private static func value(at path: [String], _ text: Span<UInt8>) -> JSONToken {
        path.reduce(JSONToken(.object, 0, text.count)) { value, name in
            guard value.kind == .object else { return .absent }
            return ObjectMembers.token(of: name, text, at: Int(value.start)) ?? .absent
        }
    }
}
