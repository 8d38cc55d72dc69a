extension PushMessage {
    /// The keys by which a duplicate of this message is recognised, because payloads have no message id.
    ///
    /// - Push to App: app, scope, bucket, object and event, with the time of modification; and the same with the time
    ///   of the push, which counts if one of two messages does not state the modification, as over APNs.
    /// - Push to User: app, scope, topic, sender, time of the push and a digest of the data.
    /// - Thing-IF command: app and command id.
    /// - A push of a ``PayloadFormat`` with an id: app, format, source and id.
    /// - A request over MQTT 5: its response topic, its correlation data, and a digest of the whole payload.
    /// - Else, or if the bucket, the topic or the time is missing: the transport's name and its own id of the message;
    ///   the id that the transport passed on, else JPush's or FCM's (`google.message_id`) from the payload.
    /// - Else, and for every ambiguous message: a weak digest of the whole payload without the keys that a network
    ///   adds; of a request over MQTT 5, with its response topic.
    ///
    /// The first three are equal over all transports. In a digest, the order of members is ignored, a number or boolean
    /// equals the string of the same text (`1` and `1.0` differ), and the first of duplicate nested keys counts. The
    /// app is `app` if the payload names none. A ``DedupeKeyMaker`` identifies a kind of message differently.
    public func dedupeKeys(app: String? = nil, secret: DedupeSecret) -> DedupeKeys {
        dedupeKeys(app, secret, at: ResourceDigest(of: storage, secret))
    }

    /// The same for a message whose resource is digested already, under the same secret.
    func dedupeKeys(_ app: String?, _ secret: DedupeSecret, at place: ResourceDigest?) -> DedupeKeys {
        if certainty != .ambiguous {
            let buffer = storage.buffer
            if let place, let keys = eventKeys(app, buffer.span, place) { return keys }
            let key =
                place.flatMap { topicKey(app, buffer.span, secret, $0) } ?? commandKey(app, secret)
                ?? foreignKey(app, secret) ?? requestKey(secret) ?? transportKey(secret)
            if let key { return DedupeKeys(primary: key, strength: .strong) }
        }
        return DedupeKeys(primary: payloadKey(secret), strength: .weak)
    }

    private func eventKeys(_ app: String?, _ text: Span<UInt8>, _ place: ResourceDigest) -> DedupeKeys? {
        guard storage.classified.bucket.isPresent, sentAt != nil || modifiedAt != nil else { return nil }
        var digest = place.narrow
        addApp(app, text, &digest)
        digest.add(KeyPart.event, text, KiiEvent.commonPart(text, storage.fields[.type].range))
        let bySentAt = sentAt.map { digest.key(KeyPart.sentAt, $0) }
        let byModifiedAt = modifiedAt.map { digest.key(KeyPart.modifiedAt, $0) }
        guard let primary = bySentAt ?? byModifiedAt else { return nil }
        return DedupeKeys(primary: primary, secondary: bySentAt == nil ? nil : byModifiedAt, strength: .strong)
    }

    private func topicKey(
        _ app: String?, _ text: Span<UInt8>, _ secret: DedupeSecret, _ place: ResourceDigest
    ) -> DedupeKey? {
        guard storage.classified.topic.isPresent, let sentAt else { return nil }
        var digest = place.wide
        addApp(app, text, &digest)
        digest.add(KeyPart.sender, text, storage.classified.sender.range)
        var sum = UnorderedDigest(secret)
        data.forEach { text, key, value in sum.add(text, key, value) }
        sum.add(to: &digest)
        return digest.key(KeyPart.sentAt, sentAt)
    }

    private func commandKey(_ app: String?, _ secret: DedupeSecret) -> DedupeKey? {
        guard let id = DirectPushMessage(self)?.command?.id else { return nil }
        var digest = KeyedDigest(secret)
        let buffer = storage.buffer
        addApp(app, buffer.span, &digest)
        digest.add(KeyPart.command, id)
        return digest.finish()
    }

    private func foreignKey(_ app: String?, _ secret: DedupeSecret) -> DedupeKey? {
        guard let foreign = storage.foreign, foreign.push.id != nil else { return nil }
        var digest = KeyedDigest(secret)
        let buffer = storage.buffer
        addApp(app, buffer.span, &digest)
        digest.add(identityOf: foreign)
        return digest.finish()
    }

    /// The key of a request over MQTT; the payload is in it, so that nobody suppresses a request of another content.
    private func requestKey(_ secret: DedupeSecret) -> DedupeKey? {
        guard let mqtt = storage.mqtt, let topic = mqtt.responseTopic, let correlation = mqtt.correlationData else {
            return nil
        }
        var digest = KeyedDigest(secret)
        digest.add(KeyPart.request, topic)
        digest.add(KeyPart.request, correlation.span, 0..<correlation.count)
        let payload = payloadKey(secret)
        digest.add(payload.first)
        digest.add(payload.second)
        return digest.finish()
    }

    /// The key by the network's own id: the one that the transport passed on, else that of the payload or its envelope.
    private func transportKey(_ secret: DedupeSecret) -> DedupeKey? {
        let received = storage.received
        let own = received.transportMessageID.flatMap { id in
            id.isEmpty ? nil : received.transport.map { ($0.name, id) }
        }
        guard let (transport, id) = own ?? storage.networkID.map({ ($0.transport.name, $0.id) }) else { return nil }
        var digest = KeyedDigest(secret)
        digest.add(KeyPart.transport, transport)
        digest.add(KeyPart.transportID, id)
        return digest.finish()
    }

    private func payloadKey(_ secret: DedupeSecret) -> DedupeKey {
        var digest = KeyedDigest(secret)
        if let topic = storage.mqtt?.responseTopic { digest.add(KeyPart.request, topic) }
        if let foreign = storage.foreign, foreign.dataRange == storage.payloadRange {
            // No JSON object: the text that is digested below may lack what the format has read elsewhere.
            let bytes = raw.bytes
            digest.add(KeyPart.foreign, bytes.span, 0..<bytes.count)
            return digest.finish()
        }
        let buffer = storage.buffer
        let text = buffer.span.extracting(storage.payloadRange)
        var members = ObjectMembers(text)
        var sum = UnorderedDigest(secret)
        while let (key, value) = members.next(text) {
            if !NetworkKeys.isAdded(text, key) { sum.add(text, key, value) }
        }
        sum.add(to: &digest)
        if let foreign = storage.foreign, foreign.hasIdentity {
            digest.add(identityOf: foreign)
            digest.add(KeyPart.foreign, foreign.push.type ?? "")
            digest.add(KeyPart.foreign, foreign.push.subject ?? "")
            digest.add(UInt64(bitPattern: foreign.push.sentAt ?? 0))
        }
        return digest.finish()
    }

    /// Adds the app: the one that the payload names, else the receiver's.
    func addApp(_ app: String?, _ text: Span<UInt8>, _ digest: inout KeyedDigest) {
        let named = storage.classified.app
        if named.isPresent {
            digest.add(KeyPart.app, text, named.range)
        } else if let app {
            digest.add(KeyPart.app, app)
        }
    }
}

extension ForeignContent {
    /// Whether parts of the message may be outside of its data, since the format reads them separately.
    fileprivate var hasIdentity: Bool { push.id != nil || push.source != nil || push.type != nil }
}

extension KeyedDigest {
    fileprivate mutating func add(identityOf foreign: ForeignContent) {
        add(KeyPart.foreign, foreign.format)
        add(KeyPart.foreign, foreign.push.source ?? "")
        add(KeyPart.foreign, foreign.push.id ?? "")
    }

    fileprivate func key(_ meaning: UInt8, _ time: Int64) -> DedupeKey {
        var copy = self
        copy.add(UInt64(meaning) << 56)
        copy.add(UInt64(bitPattern: time))
        return copy.finish()
    }
}
