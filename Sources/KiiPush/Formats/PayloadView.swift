/// A payload as a ``PayloadFormat`` sees it, without a network's envelope: its bytes, and the keys of a JSON object.
public struct PayloadView: ~Copyable, Sendable {
    /// The transport that delivered the payload, if it is known.
    public let transport: Transport?

    /// Whether the payload is one JSON object within the limits, with each root key once.
    public let isObject: Bool

    private let buffer: [UInt8]
    let count: Int
    private let keyBits: UInt64
    let limits: PayloadLimits
    /// Whether it was inside a network's envelope, so that the bytes have another place in what was received.
    let isWrapped: Bool

    /// Views the first bytes of a buffer: an object that was checked, and has keys with these bits; nil for any other.
    init(
        _ buffer: [UInt8], count: Int, _ transport: Transport?, keyBits: UInt64?, isWrapped: Bool = false,
        _ limits: PayloadLimits
    ) {
        (self.buffer, self.count, self.transport) = (buffer, count, transport)
        (isObject, self.keyBits) = (keyBits != nil, keyBits ?? 0)
        (self.isWrapped, self.limits) = (isWrapped, limits)
    }

    /// Views a text that a payload stands for, as an object.
    init(json: String) {
        self.init(Array(json.utf8), count: json.utf8.count, nil, keyBits: .max, .ofString)
    }

    // MARK: A JSON object

    /// Whether the object has a root key, with any value.
    public func has(_ key: String) -> Bool { token(key) != nil }

    /// The value of a root key; nil if the payload is no object, or does not have it.
    public subscript(key: String) -> DataValue? {
        token(key).map { DataValue(buffer.span, $0) }
    }

    /// The root members, in the order of the payload; empty if the payload is no object.
    public var members: [(key: String, value: DataValue)] {
        var all: [(String, DataValue)] = []
        forEach { text, key, value in all.append((key.string(in: text), DataValue(text, value))) }
        return all
    }

    func token(_ name: String) -> JSONToken? {
        let wanted = name.utf8.span
        guard keyBits & KeyBits.bit(wanted, 0..<wanted.count) != 0 else { return nil }
        return ObjectMembers.token(of: name, buffer.span)
    }

    /// Calls `body` with the tokens of each root member, and the text that they refer to.
    func forEach(_ body: (Span<UInt8>, JSONToken, JSONToken) -> Void) {
        guard isObject else { return }
        let text = buffer.span
        var members = ObjectMembers(text)
        while let (key, value) = members.next(text) { body(text, key, value) }
    }

    // MARK: Any bytes

    /// The payload's bytes.
    public var bytes: [UInt8] { count == buffer.count ? buffer : Array(buffer[..<count]) }

    /// The payload as text; nil if it is not UTF-8.
    public var text: String? { String(validating: buffer[..<count], as: UTF8.self) }

    /// The payload as JSON of any type, read at each access; nil if it is none within the limits.
    public var json: DataValue? {
        let text = buffer.span.extracting(..<count)
        return (try? JSONToken(only: text, limits)).map { DataValue(text, $0) }
    }
}
