/// What makes two messages the same one: 128 bits under the receiver's secret.
public struct DedupeKey: Sendable, Hashable, CustomStringConvertible {
    let first: UInt64
    let second: UInt64

    /// The key as 32 hexadecimal digits.
    public var description: String {
        [first, second].map { word in
            let digits = String(word, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }

    /// Hashes half of the key, which is as good as random already.
    public func hash(into hasher: inout Hasher) { hasher.combine(first) }
}

/// The keys of one message, and how much they prove.
public struct DedupeKeys: Sendable, Hashable {
    /// How much an equal key proves.
    public enum Strength: String, Sendable, Hashable {
        /// An equal key means the same message, over whatever transport.
        case strong
        /// An equal key means the same bytes; two honest messages may have them, so only a short window counts.
        case weak
    }

    /// The key; the one with the time of the push, where there are two.
    public let primary: DedupeKey

    /// The key with the time of the modification, which not every transport has.
    public let secondary: DedupeKey?

    /// How much an equal key proves.
    public let strength: Strength

    /// Names a message by keys of your own making.
    public init(primary: DedupeKey, secondary: DedupeKey? = nil, strength: Strength) {
        self.primary = primary
        self.secondary = secondary
        self.strength = strength
    }
}

extension PushMessage {
    /// The keys by which a repetition of this message is recognised, since no payload has a message id.
    ///
    /// - Push to App: app, scope, bucket, object and event, with the time of the push; and the same with the time of
    ///   the modification. It is seen when either is.
    /// - Push to User: app, scope, topic, sender, time of the push and a digest of the data.
    /// - Thing-IF command: app and command id.
    /// - Else, or when the bucket, the topic or the time is missing: the transport's own id, with its name.
    /// - Else, and for every ambiguous message: a digest of the whole payload less what a network adds; weak.
    ///
    /// The first three are equal over all transports. In a digest the order of members counts for nothing, and a
    /// number or boolean equals the string of the same text.
    ///
    /// - Parameters:
    ///   - app: the app of a payload that names none.
    ///   - secret: what the keys are made with.
    /// - Returns: one key or two, and what an equal one proves.
    public func dedupeKeys(app: String? = nil, secret: DedupeSecret) -> DedupeKeys {
        if certainty != .ambiguous {
            if let keys = eventKeys(app, secret) ?? topicKeys(app, secret) { return keys }
            if let key = commandKey(app, secret) { return DedupeKeys(primary: key, strength: .strong) }
            if let (transport, id) = transportID {
                var digest = KeyedDigest(secret)
                digest.add(Part.transport, transport.utf8.span, 0..<transport.utf8.count)
                digest.add(Part.transportID, id.utf8.span, 0..<id.utf8.count)
                return DedupeKeys(primary: digest.finish(), strength: .strong)
            }
        }
        return DedupeKeys(primary: payloadKey(secret), strength: .weak)
    }

    private func eventKeys(_ app: String?, _ secret: DedupeSecret) -> DedupeKeys? {
        let reading = storage.reading
        guard reading.kind == .pushToApp, reading.bucket.isPresent, sentAt != nil || modifiedAt != nil else {
            return nil
        }
        let buffer = storage.buffer
        let text = buffer.span
        var digest = digestOfPlace(app, text, secret)
        digest.add(Part.bucket, text, reading.bucket.range)
        digest.add(Part.object, text, reading.object.range)
        digest.add(Part.event, text, storage.fields[.type].range)
        let bySentAt = sentAt.map { digest.key(Part.sentAt, $0) }
        let byModifiedAt = modifiedAt.map { digest.key(Part.modifiedAt, $0) }
        guard let primary = bySentAt ?? byModifiedAt else { return nil }
        return DedupeKeys(primary: primary, secondary: bySentAt == nil ? nil : byModifiedAt, strength: .strong)
    }

    private func topicKeys(_ app: String?, _ secret: DedupeSecret) -> DedupeKeys? {
        let reading = storage.reading
        guard reading.kind == .pushToUser, reading.topic.isPresent, let sentAt else { return nil }
        let buffer = storage.buffer
        let text = buffer.span
        var digest = digestOfPlace(app, text, secret)
        digest.add(Part.topic, text, reading.topic.range)
        digest.add(Part.sender, text, reading.sender.range)
        var sum = MemberSum(secret)
        data.forEach { text, key, value in sum.add(text, key, value) }
        sum.add(to: &digest)
        return DedupeKeys(primary: digest.key(Part.sentAt, sentAt), strength: .strong)
    }

    /// What app and scope come to, with which the keys of a bucket's events and a topic's messages begin.
    @inline(__always)
    private func digestOfPlace(_ app: String?, _ text: Span<UInt8>, _ secret: DedupeSecret) -> KeyedDigest {
        var digest = KeyedDigest(secret)
        addApp(app, text, &digest)
        addScope(text, &digest)
        return digest
    }

    private func commandKey(_ app: String?, _ secret: DedupeSecret) -> DedupeKey? {
        guard let id = DirectPushMessage(self)?.command?.id else { return nil }
        var digest = KeyedDigest(secret)
        let buffer = storage.buffer
        addApp(app, buffer.span, &digest)
        digest.add(Part.command, id.utf8.span, 0..<id.utf8.count)
        return digest.finish()
    }

    /// The network's own id: as the transport handed it over, or as JPush's envelope has it.
    private var transportID: (transport: String, id: String)? {
        if let id = raw.transportMessageID, !id.isEmpty, let transport = raw.transport { return (transport.name, id) }
        return storage.envelopeID.map { (Transport.jpush.name, $0) }
    }

    private func payloadKey(_ secret: DedupeSecret) -> DedupeKey {
        let buffer = storage.buffer
        let text = buffer.span.extracting(storage.payloadRange)
        var members = ObjectMembers(text)
        var sum = MemberSum(secret)
        while let (key, value) = members.next(text) {
            if !NetworkKeys.isAdded(text, key) { sum.add(text, key, value) }
        }
        var digest = KeyedDigest(secret)
        sum.add(to: &digest)
        return digest.finish()
    }

    @inline(__always)
    private func addApp(_ app: String?, _ text: Span<UInt8>, _ digest: inout KeyedDigest) {
        let named = storage.reading.app
        if named.isPresent {
            digest.add(Part.app, text, named.range)
        } else if let app {
            digest.add(Part.app, app.utf8.span, 0..<app.utf8.count)
        }
    }

    @inline(__always)
    private func addScope(_ text: Span<UInt8>, _ digest: inout KeyedDigest) {
        switch storage.reading.scopeKind {
        case .app: digest.add(1)
        case .user: digest.add(2)
        case .group: digest.add(3)
        case .thing: digest.add(4)
        case .unknown: digest.add(Part.scopeType, text, storage.fields[.scopeType].range)
        }
        digest.add(Part.scopeID, text, storage.reading.scopeID.range)
    }
}

/// The meanings of the parts of a key, so that equal bytes in another place make another key.
private enum Part {
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
}

extension KeyedDigest {
    /// The key of what was taken in so far, and a time.
    fileprivate func key(_ meaning: UInt8, _ time: Int64) -> DedupeKey {
        var copy = self
        copy.add(UInt64(meaning) << 56)
        copy.add(UInt64(bitPattern: time))
        return copy.finish()
    }
}

/// A digest of an object's members that does not depend on their order: the sum of a keyed digest of each.
private struct MemberSum {
    private let secret: DedupeSecret
    private var first: UInt64 = 0
    private var second: UInt64 = 0
    private var count: UInt64 = 0

    init(_ secret: DedupeSecret) { self.secret = secret }

    mutating func add(_ text: Span<UInt8>, _ key: JSONToken, _ value: JSONToken) {
        var digest = KeyedDigest(secret)
        digest.add(Part.key, text, string: key)
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
        case .string, .number, .true, .false: digest.add(Part.scalar, text, string: value)
        case .null, .absent: digest.add(UInt64(Part.null))
        case .array, .object:
            var reader = JSONReader(at: Int(value.start), limits: .checked)
            add(text, &reader, to: &digest)
        }
    }

    /// Takes in the value that comes next: each byte once, however deep it lies.
    private func add(_ text: Span<UInt8>, _ reader: inout JSONReader, to digest: inout KeyedDigest) {
        var isFirst = true
        switch reader.peek(text) {
        case UInt8(ascii: "["):
            reader.advance()
            digest.add(UInt64(Part.array))
            while reader.nextElement(text, isFirst: isFirst) {
                isFirst = false
                add(text, &reader, to: &digest)
            }
            // Another word than the first one, or `[[],[]]` and `[[[]]]` would be the same.
            digest.add(UInt64(Part.arrayEnd))
        case UInt8(ascii: "{"):
            reader.advance()
            var nested = MemberSum(secret)
            while let key = try? reader.nextKey(text, isFirst: isFirst) {
                isFirst = false
                var member = KeyedDigest(secret)
                member.add(Part.key, text, string: key)
                add(text, &reader, to: &member)
                nested.add(member)
            }
            nested.add(to: &digest)
        default:
            if let token = try? reader.readValue(text, depth: 0) { add(text, token, to: &digest) }
        }
    }

    func add(to digest: inout KeyedDigest) {
        digest.add(UInt64(Part.members))
        digest.add(first)
        digest.add(second)
        digest.add(count)
    }
}

extension KeyedDigest {
    /// Takes in the text of a scalar, unescaped.
    fileprivate mutating func add(_ meaning: UInt8, _ text: Span<UInt8>, string token: JSONToken) {
        guard token.hasEscapes else { return add(meaning, text, token.range) }
        let bytes = JSONString.unescaped(text, token.range)
        add(meaning, bytes.span, 0..<bytes.count)
    }
}
