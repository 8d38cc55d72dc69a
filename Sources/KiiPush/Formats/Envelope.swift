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
    let dialect: Dialect
    /// The network's own id of the message, when the envelope has it.
    let messageID: String?

    /// Opens what a transport handed over, and leaves in `root` what stands in the payload.
    init(_ raw: RawPayload, limits: PayloadLimits, into root: inout RootMembers) throws(DecodeError) {
        let stated = Stated(raw.transport)
        if stated == .quickBlox, Self.mayBeEvent(raw.bytes) {
            let text = try Self.quickBlox(raw.bytes, limits)
            try root.read(text.span, limits: limits)
            self.init(text, .quickBlox)
            return
        }
        try Self.read(raw.bytes, limits, into: &root)
        if stated == .jpush || stated == .nothing && root.wrapped.isJPush {
            self = Self.jpush(&root, raw.bytes, limits)
        } else if root.used == 0, stated == .fcm || stated == .nothing,
            let (inner, members) = Self.data(root.wrapped, raw.bytes, limits), stated == .fcm || members.used != 0
        {
            root = members
            self.init(inner, .long)
        } else {
            self.init(raw.bytes, Self.dialect(stated, aps: root.slots.span[RootKey.aps.slot]))
        }
    }

    private init(_ text: [UInt8], _ dialect: Dialect, messageID: String? = nil) {
        self.text = text
        self.dialect = dialect
        self.messageID = messageID
    }

    /// How the keys of a payload without an envelope are written.
    ///
    /// Short keys alone prove nothing: `s`, `t` and `to` are likely names for a sender's own data.
    private static func dialect(_ stated: Stated, aps: JSONToken) -> Dialect {
        switch stated {
        case .apns: .apns
        case .quickBlox: .quickBlox
        case .fcm, .mqtt: .long
        case .jpush: .jpush
        case .nothing: aps.kind == .object ? .apns : .long
        }
    }

    /// What the transport says of how a payload is written; any other leaves it to the body.
    private enum Stated {
        case apns
        case fcm
        case jpush
        case mqtt
        case quickBlox
        case nothing

        // Once a payload, since comparing names takes 5 ns each time.
        init(_ transport: Transport?) {
            switch transport {
            case .apns?: self = .apns
            case .fcm?: self = .fcm
            case .mqtt?: self = .mqtt
            case .jpush?: self = .jpush
            case .quickblox?: self = .quickBlox
            default: self = .nothing
            }
        }
    }

    /// Whether a payload begins as a QuickBlox sender's text does: no JSON object does, and no Base64 of UTF-8 begins
    /// with one of its two signs.
    private static func mayBeEvent(_ bytes: [UInt8]) -> Bool {
        guard let first = bytes.first(where: { $0 > 0x20 }) else { return false }
        return first.isDigit || (0x61...0x7A).contains(first | 0x20)
    }

    /// The payload that a QuickBlox sender's text stands for.
    private static func quickBlox(_ bytes: [UInt8], _ limits: PayloadLimits) throws(DecodeError) -> [UInt8] {
        if bytes.count > limits.bytes { throw limits.tooLarge }
        return Array(try QuickBloxEvent(String(decoding: bytes, as: UTF8.self)).payload.utf8)
    }

    /// Reads an object; what is none but a reply of the API over MQTT is refused as that.
    private static func read(
        _ bytes: [UInt8], _ limits: PayloadLimits, into root: inout RootMembers
    ) throws(DecodeError) {
        do throws(DecodeError) {
            try root.read(bytes.span, limits: limits)
        } catch {
            guard error.code != .limitExceeded, APIReply.isOne(bytes.span) else { throw error }
            throw DecodeError(.notAPush, at: 0, "a reply of Kii's API over MQTT; only the push topic carries pushes")
        }
    }

    // MARK: JPush

    private static func jpush(_ root: inout RootMembers, _ bytes: [UInt8], _ limits: PayloadLimits) -> Envelope {
        let outer = root.wrapped
        let inner = json(in: outer.jpushMessage, bytes, limits) ?? json(in: outer.jpushExtra, bytes, limits)
        if let inner { root = inner.root }
        return Envelope(inner?.text ?? bytes, .jpush, messageID: text(outer.jpushID, bytes))
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
        _ outer: WrappedMembers, _ bytes: [UInt8], _ limits: PayloadLimits
    ) -> (text: [UInt8], root: RootMembers)? {
        var token = outer.data
        if !token.isPresent, outer.message.isPresent {
            let text = bytes.span
            var members = ObjectMembers(text, at: Int(outer.message.start))
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
