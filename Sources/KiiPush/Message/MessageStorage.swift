/// The decoded contents of one payload: its bytes, and positions in them, in one allocation for all views of a message.
package final class MessageStorage: Sendable {
    /// The payload as received; its bytes are left out if `buffer` equals them, because each reference to them is
    /// counted twice for each message.
    let received: RawPayload
    /// The payload without its envelope, followed by the unescaped text of Kii's fields that had escapes, and by the
    /// data that a format has read.
    package let buffer: [UInt8]
    /// The payload's own text, without the unescaped texts after it.
    let payloadRange: Range<Int>
    let envelopeID: NetworkID?
    /// The dialect whose keys were read as Kii's fields.
    let keyDialect: Dialect
    /// Whether it is a Thing-IF command, strictly read.
    package let isCommand: Bool
    /// What a format has read; nil for a push of Kii.
    package let foreign: ForeignContent?
    let fields: FieldTable
    let aps: JSONToken
    let stamp: JSONToken
    package let classified: Classified
    let certainty: Certainty

    init(
        _ raw: consuming RawPayload, limits: PayloadLimits, app: String?, formats: PayloadFormats
    ) throws(DecodeError) {
        let format = raw.transport?.format ?? .unknown
        // A gap has bounds of its own, and must not be lost where payloads are small.
        let limits = format == .gap ? .standard : limits
        var buffer: [UInt8] = []
        swap(&buffer, &raw.bytes)
        var root = RootMembers()
        var foreign = try formats.read(&buffer, into: &root, &raw, limits)
        var dialect = Dialect.plain(format, root, buffer.span)
        var envelopeID: NetworkID?
        if root.hasJPush || root.hasObject, foreign == nil,
            let envelope = try Envelope.open(root, buffer, format, limits)
        {
            raw.bytes = buffer
            (buffer, root, dialect) = (envelope.text, envelope.root, envelope.dialect)
            envelopeID = envelope.messageID
        }
        let payloadRange = 0..<(foreign?.payloadCount ?? buffer.count)
        var fields = FieldTable()
        fields.take(root.slots.span, foreign == nil ? root.fields(in: dialect) : [], dialect, &buffer)
        var classified = Classified()
        classified.read(buffer.span, fields, dialect)
        var isCommand = false
        if foreign == nil, classified.mayBeForeign(fields) || classified.kind == .directPush {
            let view = PayloadView(
                buffer, count: payloadRange.count, raw.transport, keyBits: root.keyBits, isWrapped: !raw.bytes.isEmpty,
                limits)
            if format != .gap, classified.mayBeForeign(fields) {
                foreign = try formats.claim(view, appendingTo: &buffer, besideTopic: classified.kind == .pushToUser)
            }
            if foreign != nil {
                // Its keys are its own: keys that look like Kii's fields are data.
                fields = FieldTable()
                classified = Classified()
            } else if classified.kind == .directPush {
                isCommand = ThingCommand.isOne(view)
                if classified.isKiis(fields) { classified.judgeByScope(fields, isCommand: isCommand) }
            }
        }
        if let app { classified.compare(buffer.span, toApp: app) }
        if buffer.count > payloadRange.count, raw.bytes.isEmpty { raw.bytes = Array(buffer[payloadRange]) }
        received = consume raw
        self.buffer = consume buffer
        (self.payloadRange, self.envelopeID, self.foreign) = (payloadRange, envelopeID, foreign)
        (keyDialect, self.isCommand) = (foreign == nil ? dialect : .foreign, isCommand)
        self.fields = fields
        aps = root.slots.span[RootKey.aps.slot]
        stamp = root.slots.span[RootKey.stamp.slot]
        self.classified = classified
        let isClear =
            classified.conflictSet.isEmpty && fields.wrongTypes.isEmpty && foreign?.rivals.isEmpty != false
        let isByAbsence = classified.evidence.isSubset(of: .scopeKeys) && !isCommand && foreign == nil
        certainty = !isClear ? .ambiguous : isByAbsence ? .likely : .certain
    }

    // MARK: What is derived

    var dialect: Dialect { isCommand ? .thingIF : keyDialect }

    package var dataRange: Range<Int> { foreign?.dataRange ?? payloadRange }

    /// Whether its sender says where to answer: it is a Thing-IF command, or has a response topic of MQTT 5.
    package var isRequest: Bool { isCommand || mqtt?.responseTopic != nil }

    var raw: RawPayload {
        var raw = received
        if raw.bytes.isEmpty { raw.bytes = buffer }
        return raw
    }

    package var mqtt: MQTTPublish? { received.mqtt }
    var hasMQTT: Bool { received.hasMQTT }
    var transport: Transport? { received.transport }
    package var isGap: Bool { transport?.format == .gap }

    /// The transport that a route's condition is about: for a gap, the one that has it.
    package var routedTransport: Transport? {
        isGap ? member("transport").flatMap(\.string).map { Transport($0) } : transport
    }

    /// The text of a token; empty for an absent one.
    // By a span: a slice of the array would be counted as one reference more.
    func string(_ token: JSONToken) -> String {
        let buffer = buffer
        return buffer.span.string(token.range)
    }

    /// The value of a root member, whether or not it is data.
    func member(_ name: String) -> DataValue? {
        let buffer = buffer
        return ObjectMembers.value(of: name, buffer.span.extracting(payloadRange))
    }

    /// The network's own id of the message: that of its envelope, else the one that FCM puts into the payload.
    ///
    /// Senders cannot set FCM's key, but the id counts only if FCM may have delivered the payload.
    var networkID: NetworkID? {
        if let envelopeID { return envelopeID }
        switch transport?.format ?? .unknown {
        case .fcm: break
        case .unknown where dialect != .apns && dialect != .jpush: break
        case .apns, .jpush, .mqtt, .gap, .unknown: return nil
        }
        return member(NetworkKeys.fcmMessageID)?.idText.map { NetworkID(id: $0) }
    }
}
