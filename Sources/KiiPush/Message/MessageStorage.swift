/// All that is known of one message: the buffer, and positions in it.
///
/// One allocation, shared by every view of the message.
final class MessageStorage: Sendable {
    let raw: RawPayload
    /// The payload, out of its envelope, and behind it the unescaped text of Kii's fields that had escapes.
    let buffer: [UInt8]
    /// The payload's own text, without what was put behind it.
    let payloadRange: Range<Int>
    /// The network's own id of the message, from its envelope.
    let envelopeID: String?
    let dialect: Dialect
    let body: Body
    let fields: FieldTable
    let aps: JSONToken
    /// What stands under the stamp's key, whatever it is.
    let stamp: JSONToken
    let reading: Reading

    /// Decodes and classifies a payload.
    init(_ raw: consuming RawPayload, limits: PayloadLimits, app: String?) throws(DecodeError) {
        let format = raw.transport?.format ?? .unknown
        var buffer = raw.bytes
        var root = RootMembers()
        if format == .quickblox, let event = try Envelope.quickBlox(buffer, limits) {
            (buffer, root) = (event.text, event.root)
        } else {
            try Envelope.read(buffer, limits, into: &root)
        }
        var dialect = Dialect.plain(format, aps: root.slots.span[RootKey.aps.slot])
        var envelopeID: String?
        if root.wrapped.isAny, let envelope = try Envelope.open(root, buffer, format, limits) {
            (buffer, root, dialect) = (envelope.text, envelope.root, envelope.dialect)
            envelopeID = envelope.messageID
        }
        let payloadRange = 0..<buffer.count
        let found = dialect.hasKiiKeys ? root.fields(in: dialect) : []
        var fields = FieldTable(root.slots.span, found, dialect, &buffer)
        var reading = Reading(buffer.span, fields, dialect)
        var body = Body.data
        if reading.kind == .directPush {
            let isKii = !reading.evidence.isEmpty || !fields.present.isDisjoint(with: .scopeKeys)
            body = Body(buffer.span.extracting(payloadRange), dialect, mayBeQuickBlox: !isKii)
            if body == .command { dialect = .thingIF }
            if case .quickBlox = body {
                // Its keys are its own: what looks like Kii's fields in it is data.
                dialect = .quickBlox
                fields = FieldTable()
                reading = Reading(buffer.span, fields, dialect)
            }
        }
        if let app { reading.compare(buffer.span, toApp: app) }
        self.raw = consume raw
        self.buffer = buffer
        self.payloadRange = payloadRange
        self.envelopeID = envelopeID
        self.dialect = dialect
        self.body = body
        self.fields = fields
        aps = root.slots.span[RootKey.aps.slot]
        stamp = root.slots.span[RootKey.stamp.slot]
        self.reading = reading
    }

    /// The text of a token; empty for one that is absent.
    // Straight from the array: 4 ns less for each string than through a span that is validated again.
    func string(_ token: JSONToken) -> String { String(decoding: buffer[token.range], as: UTF8.self) }

    var certainty: Certainty {
        if !reading.disagreements.isEmpty || !fields.wrongTypes.isEmpty { return .ambiguous }
        return reading.evidence.isEmpty && body == .data && dialect.hasKiiKeys ? .likely : .certain
    }

    /// The value of a root member, whether or not it is data.
    func member(_ name: String) -> DataValue? {
        let buffer = buffer
        return Body.member(name, buffer.span.extracting(payloadRange))
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

    /// The object in the message's bucket; only for a message that has one.
    func provenObject(in bucket: KiiBucket) -> KiiObject { KiiObject(bucket: bucket, id: string(reading.object)) }

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
