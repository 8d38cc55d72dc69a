/// The contents of a QuickBlox sender's `event.message`, in each of its five encodings.
///
/// A receiver decodes it only if a payload is stated to come from QuickBlox and is not JSON; `KiiPushTesting` encodes
/// one. From QuickBlox's reference of push notification formats.
public enum QuickBloxEvent: Sendable, Hashable {
    /// For one platform, in general: `key=value` pairs, each value form-escaped, then Base64.
    case pairs([Pair])
    /// For iOS: `payload=` and the Base64 of a JSON text.
    case ios(json: String)
    /// For Android: `data.message=` first, then `data.key=`, each value form-escaped, then Base64.
    ///
    /// QuickBlox requires the message, so it is encoded as an empty text if there is none.
    case android([Pair])
    /// For all platforms, a text: its Base64, not escaped.
    case text(String)
    /// For all platforms, with parameters: the Base64 of a JSON object.
    case json(String)

    /// One parameter.
    public struct Pair: Sendable, Hashable {
        /// The parameter's name; on Android without its `data.`.
        public let key: String
        /// The parameter's value.
        public let value: String

        /// Makes a parameter.
        public init(_ key: String, _ value: String) {
            self.key = key
            self.value = value
        }
    }

    // MARK: Decoding

    /// Reads the text of an `event.message`, with or without that name before it.
    ///
    /// Separators may be escaped (`%26` for `&`), as in a request's form: neither keys nor Base64 have a `%`.
    ///
    /// - Throws: ``DecodeError`` with the code `badEncoding` and the byte at which the text is invalid.
    public init(_ message: String) throws(DecodeError) {
        let escaped = Array(message.utf8)
        guard escaped.contains(UInt8(ascii: "%")) else {
            try self.init(escaped)
            return
        }
        // Only these: of a key with another escape, the result would mean something else when it is read again.
        let (text, offsets) = FormText.unescaped(escaped, only: Array("&=+/".utf8))
        do throws(DecodeError) {
            try self.init(text)
        } catch {
            let offset = offsets.indices.contains(error.offset) ? offsets[error.offset] : escaped.count
            throw DecodeError(error.code, at: offset, error.detail)
        }
    }

    private init(_ text: [UInt8]) throws(DecodeError) {
        let name = Array("event.message=".utf8)
        var body = text[...]
        // Repeatedly, because as a parameter's name it would be lost when the event is encoded again.
        while body.starts(with: name) { body = body.dropFirst(name.count) }
        guard let equals = body.firstIndex(of: UInt8(ascii: "=")),
            Self.isKey(body[..<equals], before: body[(equals + 1)...])
        else {
            let text = try Self.string(body)
            if case .object? = DataValue(json: text) { self = .json(text) } else { self = .text(text) }
            return
        }
        let pairs = try Self.pairs(body)
        if pairs.count == 1, pairs[0].key.isExactly("payload") {
            self = .ios(json: try Self.string(pairs[0].value))
        } else if pairs.allSatisfy({ $0.key.begins(exactlyWith: "data.") }) {
            self = .android(try Self.unescaped(pairs, dropping: 5))
        } else {
            self = .pairs(try Self.unescaped(pairs, dropping: 0))
        }
    }

    /// Whether the bytes before an equals sign are a key: Base64 has equals signs only at its end, and no dots.
    private static func isKey(_ bytes: ArraySlice<UInt8>, before rest: ArraySlice<UInt8>) -> Bool {
        let point = UInt8(ascii: ".")
        return !bytes.isEmpty
            && bytes.allSatisfy { $0.isDigit || $0.isASCIILetter || ".-_".utf8.contains($0) }
            && (bytes.contains(point) || rest.contains { $0 != UInt8(ascii: "=") && $0 > 0x20 })
    }

    /// Splits at each `&`, and each pair at its first equals sign: Base64 text has more of them.
    private static func pairs(
        _ body: ArraySlice<UInt8>
    ) throws(DecodeError) -> [(key: String, value: ArraySlice<UInt8>)] {
        var pairs: [(String, ArraySlice<UInt8>)] = []
        for pair in body.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false) {
            guard let equals = pair.firstIndex(of: UInt8(ascii: "=")), equals > pair.startIndex else {
                throw DecodeError(.badEncoding, at: pair.startIndex, "a key and an equals sign are due here")
            }
            pairs.append((String(decoding: pair[..<equals], as: UTF8.self), pair[(equals + 1)...]))
        }
        return pairs
    }

    private static func unescaped(
        _ pairs: [(key: String, value: ArraySlice<UInt8>)], dropping prefix: Int
    ) throws(DecodeError) -> [Pair] {
        var read: [Pair] = []
        for (key, text) in pairs {
            guard let value = FormText.decode(try string(text)) else {
                throw DecodeError(.badEncoding, at: text.startIndex, "the value escapes bytes that are not UTF-8")
            }
            read.append(Pair(key.droppingFirst(bytes: prefix), value))
        }
        return read
    }

    private static func string(_ text: ArraySlice<UInt8>) throws(DecodeError) -> String {
        let bytes = try Base64.decode(text.span, base: text.startIndex)
        guard let string = String(validating: bytes, as: UTF8.self) else {
            throw DecodeError(.badEncoding, at: text.startIndex, "the Base64 holds bytes that are not UTF-8")
        }
        return string
    }

    // MARK: As a payload

    var payload: String {
        switch self {
        case .ios(let json), .json(let json): return json
        case .text(let text): return Self.object([Pair("message", text)])
        case .pairs(let pairs), .android(let pairs): return Self.object(pairs)
        }
    }

    private static func object(_ pairs: [Pair]) -> String {
        DataValue.object(pairs.map { (key: $0.key, value: .string($0.value)) }).jsonText
    }
}
