/// The meanings of the parts of a key, so that equal bytes in another part make another key.
///
/// Their numbers are in keys on disk: a new one comes last.
enum KeyPart: UInt8 {
    case app = 1
    case scopeType, scopeID, bucket, object, event, sentAt, modifiedAt, topic, sender
    case transport, transportID
    case key, scalar, null, array, members
    case command
    case arrayEnd
    // Keys on disk may have had 20 to 23.
    case routeID = 24, foreign, request
    case alias, action, names
    case mqttTopic
}

extension KeyedDigest {
    mutating func add(_ part: KeyPart, _ text: Span<UInt8>, _ range: Range<Int>) { add(part.rawValue, text, range) }

    mutating func add(_ part: KeyPart, _ text: String) { add(part.rawValue, text) }

    mutating func add(_ part: KeyPart, _ text: Span<UInt8>, string token: JSONToken) {
        guard token.hasEscapes else { return add(part, text, token.range) }
        let bytes = JSONString.unescaped(text, token.range)
        add(part, bytes.span, 0..<bytes.count)
    }

    /// Adds a part that is a small number, or has none.
    mutating func add(_ part: KeyPart, _ number: UInt64 = 0) { add(UInt64(part.rawValue) << 56 | number) }

    /// Adds where a value begins or ends.
    mutating func add(mark part: KeyPart) { add(UInt64(part.rawValue)) }
}

/// A digest of an object's members that ignores their order: the sum of a keyed digest of each.
struct UnorderedDigest {
    private let secret: DedupeSecret
    private var first: UInt64 = 0
    private var second: UInt64 = 0
    private var count: UInt64 = 0

    init(_ secret: DedupeSecret) { self.secret = secret }

    mutating func add(_ text: Span<UInt8>, _ key: JSONToken, _ value: JSONToken) {
        var digest = KeyedDigest(secret)
        digest.add(.key, text, string: key)
        add(text, value, to: &digest)
        add(digest)
    }

    private mutating func add(_ digest: KeyedDigest) {
        let member = digest.finish()
        first &+= member.first
        second &+= member.second
        count += 1
    }

    private func add(_ text: Span<UInt8>, _ value: JSONToken, to digest: inout KeyedDigest) {
        switch value.kind {
        case .string, .number, .true, .false: digest.add(.scalar, text, string: value)
        case .null, .absent: digest.add(mark: .null)
        case .array, .object:
            var reader = JSONReader(at: Int(value.start), limits: .checked)
            add(text, &reader, to: &digest)
        }
    }

    /// Adds the next value; reads each byte once, however deeply it is nested.
    private func add(_ text: Span<UInt8>, _ reader: inout JSONReader, to digest: inout KeyedDigest) {
        var isFirst = true
        switch reader.peek(text) {
        case UInt8(ascii: "["):
            reader.advance()
            digest.add(mark: .array)
            while reader.nextElement(text, isFirst: isFirst) {
                isFirst = false
                add(text, &reader, to: &digest)
            }
            // Differs from the first word, or `[[],[]]` and `[[[]]]` would be equal.
            digest.add(mark: .arrayEnd)
        case UInt8(ascii: "{"):
            reader.advance()
            var nested = UnorderedDigest(secret)
            var seen = SeenKeys()
            while let key = try? reader.nextKey(text, isFirst: isFirst)?.token {
                isFirst = false
                // The first of two members with one name counts, as for all nested values.
                guard seen.insert(key, text) else {
                    guard (try? reader.readValue(text, depth: 0)) != nil else { break }
                    continue
                }
                var member = KeyedDigest(secret)
                member.add(.key, text, string: key)
                add(text, &reader, to: &member)
                nested.add(member)
            }
            nested.add(to: &digest)
        default:
            if let token = try? reader.readValue(text, depth: 0) { add(text, token, to: &digest) }
        }
    }

    func add(to digest: inout KeyedDigest) {
        digest.add(mark: .members)
        digest.add(first)
        digest.add(second)
        digest.add(count)
    }
}
