/// The result of one pass over a payload: the positions of the values of known keys, and that the whole is valid.
///
/// A sender's own keys are only checked and counted here; `MessageData` finds them on demand.
struct RootMembers {
    private(set) var slots = InlineArray<34, JSONToken>(repeating: .absent)

    /// A bit for each slot that has a value, so that the others need not be read.
    private(set) var used: UInt64 = 0

    /// A bit for each key that is not known; see ``KeyBits``.
    private var otherBits: UInt64 = 0
    private(set) var hasJPush = false
    /// Whether there is an object, or a text that may be one, in which a payload may be.
    private(set) var hasObject = false
    init() {}

    init(_ text: Span<UInt8>, limits: PayloadLimits) throws(DecodeError) { try read(text, limits: limits) }

    /// Reads a payload; throws unless it is one JSON object within the limits, with each root key once.
    // Not only an initialiser: one that throws builds its 400 bytes elsewhere and copies them (measured: 30 ns).
    mutating func read(_ text: Span<UInt8>, limits: PayloadLimits) throws(DecodeError) {
        guard text.count <= limits.bytes else { throw limits.tooLarge }
        var reader = JSONReader(limits: limits)
        guard let first = reader.peek(text) else { throw DecodeError(.empty, at: 0, "there is nothing to read") }
        let start = reader.offset
        var duplicate: JSONToken?
        let isObject = first == UInt8(ascii: "{")
        if isObject {
            reader.advance()
            reader = try readMembers(text, reader, &duplicate)
        } else {
            do throws(DecodeError) { _ = try reader.readValue(text, depth: 0) } catch {
                throw DecodeError(error.code, at: error.offset, Self.what(text, start) ?? error.detail)
            }
        }
        if reader.peek(text) != nil { throw reader.unexpected(text, "the end of the payload") }
        guard isObject else { throw DecodeError(.notAnObject, at: start, "a push is a JSON object") }
        if let duplicate {
            throw DecodeError(.duplicateKey, at: Int(duplicate.start) - 1, "duplicate key; send it once")
        }
    }

    /// What a text is that is no JSON and does not begin like an object, a list or a string of it; nil for these.
    private static func what(_ text: Span<UInt8>, _ start: Int) -> String? {
        let second = start + 1 < text.count ? text[start + 1] : 0
        return switch (text[start], second) {
        case (0xEF, 0xBB): "the payload begins with a byte order mark; send it as UTF-8 without one"
        case (0xFF, 0xFE), (0xFE, 0xFF): "the payload is UTF-16; send it as UTF-8"
        case (0x1F, 0x8B): "the payload is compressed with gzip; send it uncompressed"
        case (UInt8(ascii: "<"), UInt8(ascii: "!")), (UInt8(ascii: "<"), UInt8(ascii: "?")),
            (UInt8(ascii: "<"), UInt8(ascii: "A")...UInt8(ascii: "z")):
            "the payload begins like HTML or XML, such as the error page of a proxy; a push is a JSON object"
        // The error says more.
        case (UInt8(ascii: "["), _), (UInt8(ascii: "\""), _), (0, _): nil
        default: "the payload is not JSON; a push is a JSON object"
        }
    }

    /// Reads the members of the root after its opening brace, and finds the first key that is a duplicate; returns the
    /// reader after its closing brace.
    private mutating func readMembers(
        _ text: Span<UInt8>, _ start: JSONReader, _ duplicate: inout JSONToken?
    ) throws(DecodeError) -> JSONReader {
        // Not stored, so that a copy of the result is half as large and changes no reference counts.
        var others = SeenKeys()
        let table = KeyTable.known
        var reader = start
        var isFirst = true
        while let key = try reader.nextKey(text, isFirst: isFirst) {
            isFirst = false
            let known = key.word != 0 ? table.find(key.word) : key.token.rootKey(in: text, table)
            if let known {
                let bit: UInt64 = 1 &<< UInt64(known.slot)
                if used & bit != 0, duplicate == nil { duplicate = key.token }
                used |= bit
                slots[known.slot] = try reader.readValue(text, depth: 1)
            } else {
                if !others.insert(key.token, text), duplicate == nil { duplicate = key.token }
                otherBits |= KeyBits.bit(text, key.token)
                let value = try reader.readValue(text, depth: 1)
                if value.kind == .object || value.hasEscapes || key.token.range.count > NetworkKeys.jpush.utf8.count {
                    noteEnvelope(text, key.token, value)
                }
            }
        }
        return reader
    }

    private mutating func noteEnvelope(_ text: Span<UInt8>, _ key: JSONToken, _ value: JSONToken) {
        // An object in a string has escapes, since its keys are quoted.
        if value.kind == .object || value.hasEscapes && text[Int(value.start)] == UInt8(ascii: "{") { hasObject = true }
        if key.begins(with: NetworkKeys.jpush, in: text) { hasJPush = true }
    }

    // MARK: What was found

    /// A bit for each root key; see ``KeyBits``.
    var keyBits: UInt64 { otherBits | KeyTable.known.bits(ofSlots: used) }

    /// The fields that a payload of `dialect` has, whatever their values.
    func fields(in dialect: Dialect) -> FieldSet {
        // The fifteen short keys are below the seventeen long ones, of which the last two, the URIs, belong to every
        // dialect.
        let named = dialect.hasShortKeys ? used & 0x7FFF | used &>> 15 & 0x18000 : used &>> 15 & 0x1FFFF
        return FieldSet(rawValue: UInt32(truncatingIfNeeded: named))
    }

    // By a span, because other ways to read an element copy all of them first.
    var hasAppleDictionary: Bool { slots.span[RootKey.aps.slot].kind == .object }

    /// Whether the payload may be Kii's as it is, because it has a long key, `aps` or the stamp.
    ///
    /// Short keys alone are no evidence.
    var mayBeKiis: Bool { used &>> 15 != 0 }

    /// Whether it has an `aps` and is of FCM all the same, which adds one to long keys for Apple's devices.
    ///
    /// Long keys beside `aps` may be a sender's own data. So they count only without short keys that only Kii sends,
    /// and if they name a bucket or a topic with its scope, or if there is FCM's id.
    func isFCMForApple(_ text: Span<UInt8>) -> Bool {
        let long = fields(in: .long).intersection(.telling)
        guard !long.isEmpty, fields(in: .apns).isDisjoint(with: .telling) else { return false }
        let isWhole = long.contains(.scopeType) && (long.contains(.bucketID) || long.contains(.topic))
        return isWhole || ObjectMembers.value(of: NetworkKeys.fcmIDForApple, text) != nil
    }

    /// The dialect of a payload that a client library has wrapped; nil if it has none of Kii's keys.
    func wrappedDialect(_ format: Transport.Format, _ text: Span<UInt8>) -> Dialect? {
        let dialect = Dialect.plain(format, self, text)
        let fields = fields(in: dialect)
        if format != .unknown { return fields.isDisjoint(with: .telling) ? nil : dialect }
        if dialect == .long, !fields.isEmpty { return .long }
        // Some libraries remove `aps`, so the keys of a bucket or a scope, which nobody else sends, are enough.
        let short = self.fields(in: .apns).intersection(dialect == .apns ? .telling : .resourceKeys)
        return short.isEmpty ? nil : .apns
    }
}

extension JSONToken {
    /// Calls `body` with the token's text and its place in it: what the payload has, or a string without its escapes.
    func read<Result>(_ text: Span<UInt8>, _ body: (Span<UInt8>, Range<Int>) -> Result) -> Result {
        guard hasEscapes else { return body(text, range) }
        let bytes = JSONString.unescaped(text, range)
        return body(bytes.span, 0..<bytes.count)
    }

    func rootKey(in text: Span<UInt8>, _ table: KeyTable = .known) -> RootKey? { read(text) { table.find($0, $1) } }

    func matches(_ name: Span<UInt8>, in text: Span<UInt8>) -> Bool {
        read(text) { $0.matches($1, in: name, 0..<name.count) }
    }

    func begins(with prefix: String, in text: Span<UInt8>) -> Bool { read(text) { $0.begins($1, with: prefix) } }

    /// The token's bytes, unescaped if it is a string.
    package func bytes(in text: Span<UInt8>) -> [UInt8] {
        hasEscapes ? JSONString.unescaped(text, range) : range.map { text[$0] }
    }

    /// The token's text: a string unescaped, a number or a container as written.
    package func string(in text: Span<UInt8>) -> String { read(text) { $0.string($1) } }
}

/// Sets of keys, each as one of 64 bits by its first and last byte and its length: a key whose bit is missing is not in
/// the set, and costs no search.
enum KeyBits {
    @inline(__always)
    static func bit(_ text: Span<UInt8>, _ range: Range<Int>) -> UInt64 {
        guard let last = range.last else { return 1 }
        let sum = UInt64(text[range.lowerBound]) &* 5 &+ UInt64(text[last]) &+ UInt64(range.count) &* 11
        return 1 &<< (sum & 63)
    }

    /// The bit of a key in a payload; all bits for one with escapes.
    static func bit(_ text: Span<UInt8>, _ key: JSONToken) -> UInt64 { key.hasEscapes ? .max : bit(text, key.range) }
}
