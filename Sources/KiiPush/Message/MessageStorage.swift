/// All that is known of one message: the buffer, and positions in it. One allocation, shared by every view of it.
final class MessageStorage: Sendable {
    let raw: RawPayload
    /// The payload, and behind it the unescaped text of Kii's fields that had escapes.
    let buffer: [UInt8]
    let dialect: Dialect
    let fields: FieldTable
    let aps: JSONToken
    let reading: Reading

    /// Decodes and classifies a payload.
    init(_ raw: RawPayload, limits: PayloadLimits, app: String?) throws(DecodeError) {
        let root = try RootMembers(raw.bytes.span, limits: limits)
        let dialect = Dialect.recognise(root, transport: raw.transport)
        var buffer = raw.bytes
        let fields = FieldTable(root, dialect, &buffer)
        var reading = Reading(buffer.span, fields, dialect)
        if let app { reading.compare(buffer.span, toApp: app) }
        self.raw = raw
        self.buffer = buffer
        self.dialect = dialect
        self.fields = fields
        self.aps = root.aps
        self.reading = reading
    }

    /// The payload's own text, without what was put behind it.
    var payloadRange: Range<Int> { 0..<raw.bytes.count }

    /// The text of a token; empty for one that is absent.
    // Straight from the array: 4 ns less for each string than through a span that is validated again.
    func string(_ token: JSONToken) -> String { String(decoding: buffer[token.range], as: UTF8.self) }

    var certainty: Certainty {
        if !reading.disagreements.isEmpty || !fields.wrongTypes.isEmpty { return .ambiguous }
        return reading.evidence.isEmpty ? .likely : .certain
    }

    // MARK: Handles, made when asked for

    /// The scope; only for a message whose scope is complete.
    var completeScope: KiiScope {
        switch reading.scopeKind {
        case .app, .unknown: .app
        case .user: .user(KiiUser(id: string(reading.scopeID)))
        case .group: .group(KiiGroup(id: string(reading.scopeID)))
        case .thing: .thing(KiiThing(id: string(reading.scopeID)))
        }
    }

    /// The bucket; only for a message that has one.
    var provenBucket: KiiBucket {
        var type: KiiBucketType?
        if reading.bucketIsEncrypted {
            type = .crypto
        } else if fields[.bucketType].isPresent {
            type = KiiBucketType(string(fields[.bucketType]))
        }
        return KiiBucket(scope: completeScope, name: string(reading.bucket), type: type)
    }

    /// The object; only for a message that has one.
    var provenObject: KiiObject { KiiObject(bucket: provenBucket, id: string(reading.object)) }

    /// The topic; only for a message that has one.
    var provenTopic: KiiTopic { KiiTopic(scope: completeScope, name: string(reading.topic)) }

    var sender: Sender? {
        switch reading.senderKind {
        case .none: nil
        case .user: .user(id: string(reading.sender))
        case .thing: .thing(id: string(reading.sender))
        case .admin: .admin(string(reading.sender))
        }
    }
}
