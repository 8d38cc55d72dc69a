/// Extracts a payload from a network's envelope, and determines its dialect.
///
/// - JPush delivers extras: the payload is the JSON in `cn.jpush.android.MESSAGE`, else in `.EXTRA`, else the extras.
/// - FCM's own message object has the payload under `data`, at its root or inside `message`.
/// - A QuickBlox sender's `event.message` is text in one of five encodings.
///
/// A stated transport decides which envelope is expected; without one, the body does.
struct Envelope {
    /// The payload's text.
    let text: [UInt8]
    let root: RootMembers
    let dialect: Dialect
    /// The network's own id of the message, if the envelope has it.
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
        guard format == .fcm || format == .unknown, outer.used == 0 else { return nil }
        return try fcm(outer, text, isStated: format == .fcm, limits)
    }

    /// Reads the members of a payload that is not a QuickBlox event into `root`.
    ///
    /// - Throws: `DecodeError`; `notAPush` for a reply of the API over MQTT.
    static func read(
        _ text: [UInt8], _ limits: PayloadLimits, into root: inout RootMembers
    ) throws(DecodeError) {
        do throws(DecodeError) {
            try root.read(text.span, limits: limits)
        } catch {
            guard error.code != .limitExceeded, APIReply.isOne(text.span) else { throw error }
            throw DecodeError(.notAPush, at: 0, "a reply of Kii's API over MQTT; only the push topic carries pushes")
        }
    }

    // MARK: QuickBlox

    /// The payload of a QuickBlox sender's text; nil if the bytes are not such a text.
    static func quickBlox(_ bytes: [UInt8], _ limits: PayloadLimits) throws(DecodeError) -> Envelope? {
        guard mayBeEvent(bytes) else { return nil }
        if bytes.count > limits.bytes { throw limits.tooLarge }
        if let offset = JSONString.firstInvalid(bytes.span) {
            throw DecodeError(.invalidUTF8, at: offset, "these bytes are not UTF-8")
        }
        let text = Array(try QuickBloxEvent(String(decoding: bytes, as: UTF8.self)).payload.utf8)
        do throws(DecodeError) {
            let root = try RootMembers(text.span, limits: limits)
            return Envelope(text: text, root: root, dialect: .quickBlox, messageID: nil)
        } catch {
            // Its offset refers to the decoded text, which the caller does not have.
            let detail = "in the text that the event holds, at byte \(error.offset): \(error.detail)"
            throw DecodeError(error.code, at: 0, detail)
        }
    }

    /// Whether a payload begins like a QuickBlox sender's text: a JSON object does not, and Base64 of UTF-8 never
    /// begins with `+` or `/`.
    private static func mayBeEvent(_ bytes: [UInt8]) -> Bool {
        guard let first = bytes.first(where: { $0 > 0x20 }) else { return false }
        return first.isDigit || (0x61...0x7A).contains(first | 0x20)
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

    // MARK: FCM

    /// The payload in an FCM message object, under `data`, flat or inside `message`.
    ///
    /// Without a stated transport, `data` may be a sender's own key; Kii's keys inside show that it is not. A duplicate
    /// key in the payload is an error, as without an envelope: as a sender's data, it would be another kind of message.
    private static func fcm(
        _ outer: RootMembers, _ bytes: [UInt8], isStated: Bool, _ limits: PayloadLimits
    ) throws(DecodeError) -> Envelope? {
        let token = data(outer, bytes)
        guard token.kind == .object else { return nil }
        let inner = Array(bytes[token.range])
        var root = RootMembers()
        var failure: DecodeError?
        do throws(DecodeError) {
            try root.read(inner.span, limits: limits)
        } catch {
            failure = error
        }
        guard isStated || !root.fields(in: .long).isEmpty else { return nil }
        if let failure {
            throw DecodeError(failure.code, at: Int(token.start) + failure.offset, "in data: \(failure.detail)")
        }
        let id = Body.member(NetworkKeys.fcmMessageID, bytes.span)?.idText.map { NetworkID(network: .fcm, id: $0) }
        return Envelope(text: inner, root: root, dialect: .long, messageID: id)
    }

    /// The value of `data`, flat or inside `message`.
    private static func data(_ outer: RootMembers, _ bytes: [UInt8]) -> JSONToken {
        var token = outer.wrapped.data
        if !token.isPresent, outer.wrapped.message.isPresent {
            let text = bytes.span
            var members = ObjectMembers(text, at: Int(outer.wrapped.message.start))
            while !token.isPresent, let (key, value) = members.next(text) {
                if key.matches("data".utf8.span, in: text) { token = value }
            }
        }
        return token
    }
}

/// The root members by which an envelope is recognised, recorded while the payload is read.
struct WrappedMembers {
    private(set) var jpushMessage = JSONToken.absent
    private(set) var jpushExtra = JSONToken.absent
    private(set) var jpushID = JSONToken.absent
    private(set) var data = JSONToken.absent
    private(set) var message = JSONToken.absent
    /// Whether there is a key of JPush.
    private(set) var isJPush = false
    /// Whether there is any of these.
    var isAny: Bool { isJPush || data.isPresent || message.isPresent }

    /// Whether a member could be one of these; a cheap test.
    @inline(__always)
    static func isCandidate(_ key: JSONToken, _ value: JSONToken) -> Bool {
        value.kind == .object || key.range.count > Self.jpush.utf8.count
    }

    static let jpush = "cn.jpush.android."

    mutating func note(_ text: Span<UInt8>, _ key: JSONToken, _ value: JSONToken) {
        if key.hasEscapes {
            let name = key.bytes(in: text)
            return note(name.span, JSONToken(.string, 0, name.count), value)
        }
        let range = key.range
        if text.begins(range, with: Self.jpush) {
            isJPush = true
            let name = (range.lowerBound + Self.jpush.utf8.count)..<range.upperBound
            if text.matches(name, "MESSAGE") { jpushMessage = value }
            if text.matches(name, "EXTRA") { jpushExtra = value }
            if text.matches(name, "MSG_ID") { jpushID = value }
        } else if value.kind == .object {
            if text.matches(range, "data") { data = value }
            if text.matches(range, "message") { message = value }
        }
    }
}
