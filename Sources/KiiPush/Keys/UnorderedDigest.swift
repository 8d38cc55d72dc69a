/// The meanings of the parts of a key, so that equal bytes in another part make another key.
enum KeyPart {
    static let app: UInt8 = 1
    static let scopeType: UInt8 = 2
    static let scopeID: UInt8 = 3
    static let bucket: UInt8 = 4
    static let object: UInt8 = 5
    static let event: UInt8 = 6
    static let sentAt: UInt8 = 7
    static let modifiedAt: UInt8 = 8
    static let topic: UInt8 = 9
    static let sender: UInt8 = 10
    static let transport: UInt8 = 11
    static let transportID: UInt8 = 12
    static let key: UInt8 = 13
    static let scalar: UInt8 = 14
    static let null: UInt8 = 15
    static let array: UInt8 = 16
    static let members: UInt8 = 17
    static let command: UInt8 = 18
    static let arrayEnd: UInt8 = 19
    static let replaced: UInt8 = 20
    static let text: UInt8 = 21
    static let number: UInt8 = 22
    static let missing: UInt8 = 23
    static let routeID: UInt8 = 24
    static let foreign: UInt8 = 25
    static let request: UInt8 = 26
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
        digest.add(KeyPart.key, text, string: key)
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
        case .string, .number, .true, .false: digest.add(KeyPart.scalar, text, string: value)
        case .null, .absent: digest.add(UInt64(KeyPart.null))
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
            digest.add(UInt64(KeyPart.array))
            while reader.nextElement(text, isFirst: isFirst) {
                isFirst = false
                add(text, &reader, to: &digest)
            }
            // Differs from the first word, or `[[],[]]` and `[[[]]]` would be equal.
            digest.add(UInt64(KeyPart.arrayEnd))
        case UInt8(ascii: "{"):
            reader.advance()
            var nested = UnorderedDigest(secret)
            var seen = SeenNames()
            while let key = try? reader.nextKey(text, isFirst: isFirst) {
                isFirst = false
                var member = KeyedDigest(secret)
                member.add(KeyPart.key, text, string: key)
                // The first of two members with one name counts, as for all nested values.
                guard seen.insert(member.finish()) else {
                    guard (try? reader.readValue(text, depth: 0)) != nil else { break }
                    continue
                }
                add(text, &reader, to: &member)
                nested.add(member)
            }
            nested.add(to: &digest)
        default:
            if let token = try? reader.readValue(text, depth: 0) { add(text, token, to: &digest) }
        }
    }

    func add(to digest: inout KeyedDigest) {
        digest.add(UInt64(KeyPart.members))
        digest.add(first)
        digest.add(second)
        digest.add(count)
    }
}

extension KeyedDigest {
    mutating func add(_ meaning: UInt8, _ text: Span<UInt8>, string token: JSONToken) {
        guard token.hasEscapes else { return add(meaning, text, token.range) }
        let bytes = JSONString.unescaped(text, token.range)
        add(meaning, bytes.span, 0..<bytes.count)
    }
}

/// The names of an object's members so far, by their digests, so that a duplicate is found in constant time.
///
/// The digests are keyed: without the receiver's secret, nobody can make names that collide.
private struct SeenNames {
    private var few = InlineArray<4, DedupeKey>(repeating: DedupeKey(first: 0, second: 0))
    private var count = 0
    /// All of them, once there are more than four; most nested objects have so few that a set is not worth its
    /// allocation.
    private var many: Set<DedupeKey> = []

    /// Adds a name; returns whether it is new.
    mutating func insert(_ name: DedupeKey) -> Bool {
        if count > 4 { return many.insert(name).inserted }
        for index in 0..<min(count, 4) where few[index] == name { return false }
        if count < 4 {
            few[count] = name
        } else {
            for index in 0..<4 { many.insert(few[index]) }
            many.insert(name)
        }
        count += 1
        return true
    }
}
