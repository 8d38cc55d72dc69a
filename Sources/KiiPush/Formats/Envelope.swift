/// Takes a payload out of what a network has wrapped it in, and says how its keys are written.
///
/// - JPush hands over extras: the payload is the JSON in `cn.jpush.android.MESSAGE`, else in `.EXTRA`, else the extras.
/// - FCM's own message object has the payload under `data`, at its root or inside `message`.
/// - A QuickBlox sender's `event.message` is text in one of five encodings.
///
/// A stated transport decides which of them is looked for; without one, the body does.
struct Envelope {
    /// The payload's text.
    let text: [UInt8]
    let root: RootMembers
    let dialect: Dialect
    /// The network's own id of the message, when the envelope has it.
    let messageID: String?

    /// Opens what a transport handed over.
    init(_ raw: RawPayload, limits: PayloadLimits) throws(DecodeError) {
        if raw.transport == .quickblox, Self.mayBeEvent(raw.bytes) {
            let (text, root) = try Self.quickBlox(raw.bytes, limits)
            self.init(text, root, .quickBlox)
            return
        }
        let outer = try Self.read(raw.bytes, limits)
        let isStated = raw.transport != nil && Self.known.contains(raw.transport)
        if raw.transport == .jpush || !isStated && outer.wrapped.isJPush {
            self = Self.jpush(outer, raw.bytes, limits)
        } else if raw.transport == .fcm || !isStated, outer.used == 0,
            let (inner, members) = Self.data(outer, raw.bytes, limits), isStated || members.used != 0
        {
            self.init(inner, members, .long)
        } else {
            self.init(raw.bytes, outer, Self.dialect(raw.transport, outer))
        }
    }

    private init(_ text: [UInt8], _ root: RootMembers, _ dialect: Dialect, messageID: String? = nil) {
        self.text = text
        self.root = root
        self.dialect = dialect
        self.messageID = messageID
    }

    /// How the keys of a payload without an envelope are written.
    ///
    /// Short keys alone prove nothing: `s`, `t` and `to` are likely names for a sender's own data.
    private static func dialect(_ transport: Transport?, _ root: RootMembers) -> Dialect {
        switch transport {
        case .apns?: .apns
        case .quickblox?: .quickBlox
        case .fcm?, .mqtt?: .long
        default: root.aps.kind == .object ? .apns : .long
        }
    }

    /// The transports that say how a payload is written; any other leaves it to the body.
    private static let known: [Transport?] = [.apns, .fcm, .jpush, .mqtt, .quickblox]

    /// Whether a payload begins as a QuickBlox sender's text does: no JSON object does, and no Base64 of UTF-8 begins
    /// with one of its two signs.
    private static func mayBeEvent(_ bytes: [UInt8]) -> Bool {
        guard let first = bytes.first(where: { $0 > 0x20 }) else { return false }
        return first.isDigit || (0x61...0x7A).contains(first | 0x20)
    }

    /// The payload that a QuickBlox sender's text stands for.
    private static func quickBlox(
        _ bytes: [UInt8], _ limits: PayloadLimits
    ) throws(DecodeError) -> (text: [UInt8], root: RootMembers) {
        if bytes.count > limits.bytes { throw limits.tooLarge }
        // Checked here, for repairing it would move what stands behind.
        if let offset = JSONString.firstInvalid(bytes.span) {
            throw DecodeError(.invalidUTF8, at: offset, "a QuickBlox event with bytes that are not UTF-8")
        }
        let text = Array(try QuickBloxEvent(String(decoding: bytes, as: UTF8.self)).payload.utf8)
        do throws(DecodeError) {
            return (text, try RootMembers(text.span, limits: limits))
        } catch {
            // Its bytes are not the payload's own: what is counted in it may lie beyond the payload's end.
            let detail = "in what the QuickBlox event stands for, at its byte \(error.offset): \(error.detail)"
            throw DecodeError(error.code, at: 0, detail)
        }
    }

    /// Reads an object; what is none but a reply of the API over MQTT is refused as that.
    private static func read(_ bytes: [UInt8], _ limits: PayloadLimits) throws(DecodeError) -> RootMembers {
        do throws(DecodeError) {
            return try RootMembers(bytes.span, limits: limits)
        } catch {
            guard error.code != .limitExceeded, APIReply.isOne(bytes.span) else { throw error }
            throw DecodeError(.notAPush, at: 0, "a reply of Kii's API over MQTT; only the push topic carries pushes")
        }
    }

    // MARK: JPush

    private static func jpush(_ outer: RootMembers, _ bytes: [UInt8], _ limits: PayloadLimits) -> Envelope {
        let inner =
            json(in: outer.wrapped.jpushMessage, bytes, limits) ?? json(in: outer.wrapped.jpushExtra, bytes, limits)
        let (text, root) = inner ?? (bytes, outer)
        return Envelope(text, root, .jpush, messageID: Self.text(outer.wrapped.jpushID, bytes))
    }

    /// The object that a string holds as JSON, if it does.
    private static func json(
        in token: JSONToken, _ bytes: [UInt8], _ limits: PayloadLimits
    ) -> (text: [UInt8], root: RootMembers)? {
        guard token.kind == .string else { return nil }
        let inner = token.bytes(in: bytes.span)
        guard let root = try? RootMembers(inner.span, limits: limits) else { return nil }
        return (inner, root)
    }

    private static func text(_ token: JSONToken, _ bytes: [UInt8]) -> String? {
        guard token.kind == .string || token.kind == .number else { return nil }
        let text = token.string(in: bytes.span)
        return text.isEmpty ? nil : text
    }

    // MARK: FCM

    /// The `data` of an FCM message object, flat or inside `message`.
    private static func data(
        _ outer: RootMembers, _ bytes: [UInt8], _ limits: PayloadLimits
    ) -> (text: [UInt8], root: RootMembers)? {
        var token = outer.wrapped.data
        if !token.isPresent, outer.wrapped.message.isPresent {
            let text = bytes.span
            var members = ObjectMembers(text, at: Int(outer.wrapped.message.start))
            while let (key, value) = members.next(text), !token.isPresent {
                if value.kind == .object, key.matches("data".utf8.span, in: text) { token = value }
            }
        }
        guard token.isPresent else { return nil }
        let inner = Array(bytes[token.range])
        guard let root = try? RootMembers(inner.span, limits: limits) else { return nil }
        return (inner, root)
    }
}

/// Root members by which an envelope is recognised; noted while the payload is read.
struct WrappedMembers {
    private(set) var jpushMessage = JSONToken.absent
    private(set) var jpushExtra = JSONToken.absent
    private(set) var jpushID = JSONToken.absent
    private(set) var data = JSONToken.absent
    private(set) var message = JSONToken.absent
    /// Whether a key is JPush's own.
    private(set) var isJPush = false

    /// Whether a member could be one of these, by what costs nothing to look at.
    @inline(__always)
    static func isCandidate(_ key: JSONToken, _ value: JSONToken) -> Bool {
        value.kind == .object || key.range.count > Self.jpush.utf8.count
    }

    private static let jpush = "cn.jpush.android."

    mutating func note(_ text: Span<UInt8>, _ key: JSONToken, _ value: JSONToken) {
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
