extension PushMessage {
    /// The keys by which a duplicate of this message is recognised, because payloads have no message id.
    ///
    /// - Push to App: app, scope, bucket, object and event, with the time of modification; and the same with the time
    ///   of the push, which counts if one of two messages does not state the modification, as over APNs.
    /// - Push to User: app, scope, topic, sender, time of the push and a digest of the data.
    /// - Thing-IF command: app and command id.
    /// - A push of a ``PayloadFormat`` with an id: app, format, source and id.
    /// - A request over MQTT 5: its topic, response topic, correlation data, and a digest of the whole payload.
    /// - Else, or if the bucket, the topic or the time is missing: the transport's name and its own id of the message;
    ///   the id that the transport passed on, else JPush's or FCM's (`google.message_id`) from the payload.
    /// - Else, and for every ambiguous message: a weak digest of the whole payload without the keys that a network
    ///   adds; over MQTT, with its topic and response topic.
    ///
    /// The first three are equal over all transports. In a digest, the order of members is ignored, a number or boolean
    /// equals the string of the same text (`1` and `1.0` differ), and the first of duplicate nested keys counts. The
    /// app is `app` if the payload names none. A ``RouteDedupe`` identifies a route's messages by an id in their data.
    public func dedupeKeys(app: String? = nil, secret: DedupeSecret) -> DedupeKeys {
        dedupeKeys(app, secret, at: ResourceDigest(of: storage, secret))
    }

    /// The same for a message whose resource is digested already, under the same secret.
    func dedupeKeys(_ app: String?, _ secret: DedupeSecret, at place: ResourceDigest?) -> DedupeKeys {
        if certainty != .ambiguous {
            if let place, let keys = eventKeys(app, place) { return keys }
            if let key = place.flatMap({ topicKey(app, secret, $0) }) ?? ownKey(app, secret) {
                return DedupeKeys(primary: key, strength: .strong)
            }
        }
        return DedupeKeys(primary: payloadKey(secret), strength: .weak)
    }

    private func eventKeys(_ app: String?, _ place: ResourceDigest) -> DedupeKeys? {
        guard storage.classified.bucket.isPresent, sentAt != nil || modifiedAt != nil else { return nil }
        let buffer = storage.buffer
        var digest = place.narrow
        addApp(app, &digest)
        digest.add(.event, buffer.span, KiiEvent.commonPart(buffer.span, storage.fields[.type].range))
        let bySentAt = sentAt.map { digest.key(.sentAt, $0) }
        let byModifiedAt = modifiedAt.map { digest.key(.modifiedAt, $0) }
        guard let primary = bySentAt ?? byModifiedAt else { return nil }
        return DedupeKeys(primary: primary, secondary: bySentAt == nil ? nil : byModifiedAt, strength: .strong)
    }

    private func topicKey(_ app: String?, _ secret: DedupeSecret, _ place: ResourceDigest) -> DedupeKey? {
        guard storage.classified.topic.isPresent, let sentAt else { return nil }
        let buffer = storage.buffer
        var digest = place.wide
        addApp(app, &digest)
        digest.add(.sender, buffer.span, storage.classified.sender.range)
        var sum = UnorderedDigest(secret)
        data.forEach { text, key, value in sum.add(text, key, value) }
        sum.add(to: &digest)
        return digest.key(.sentAt, sentAt)
    }

    /// The key by an id of its own: a command's, that of a push of a format, a request's, or the network's.
    private func ownKey(_ app: String?, _ secret: DedupeSecret) -> DedupeKey? {
        var digest = KeyedDigest(secret)
        if let id = DirectPushMessage(self)?.command?.id {
            addApp(app, &digest)
            digest.add(.command, id)
        } else if let foreign = storage.foreign, foreign.push.id != nil {
            addApp(app, &digest)
            digest.add(identityOf: foreign)
        } else if let mqtt = storage.mqtt, let topic = mqtt.responseTopic, let correlation = mqtt.correlationData {
            digest.add(.request, topic)
            digest.add(.request, correlation.span, 0..<correlation.count)
            // So that nobody suppresses a request of another content.
            let payload = payloadKey(secret)
            digest.add(payload.first)
            digest.add(payload.second)
        } else if let transport = storage.received.transport, let id = storage.received.transportMessageID,
            !id.isEmpty
        {
            digest.add(.transport, transport.name)
            digest.add(.transportID, id)
        } else if let network = storage.networkID {
            digest.add(.transport, network.transport.name)
            digest.add(.transportID, network.id)
        } else {
            return nil
        }
        return digest.finish()
    }

    private func payloadKey(_ secret: DedupeSecret) -> DedupeKey {
        var digest = KeyedDigest(secret)
        if let mqtt = storage.mqtt {
            digest.add(.mqttTopic, mqtt.topic)
            if let topic = mqtt.responseTopic { digest.add(.request, topic) }
        }
        if let foreign = storage.foreign, foreign.dataRange == storage.payloadRange {
            // No JSON object: the text that is digested below may lack what the format has read elsewhere.
            let bytes = raw.bytes
            digest.add(.foreign, bytes.span, 0..<bytes.count)
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
            digest.add(.foreign, foreign.push.type ?? "")
            digest.add(.foreign, foreign.push.subject ?? "")
            digest.add(UInt64(bitPattern: foreign.push.sentAt ?? 0))
        }
        return digest.finish()
    }

    /// Adds the app: the one that the payload names, else the receiver's.
    func addApp(_ app: String?, _ digest: inout KeyedDigest) {
        let named = storage.classified.app
        if named.isPresent {
            let buffer = storage.buffer
            digest.add(.app, buffer.span, named.range)
        } else if let app {
            digest.add(.app, app)
        }
    }
}

extension ForeignContent {
    /// Whether parts of the message may be outside of its data, since the format reads them separately.
    fileprivate var hasIdentity: Bool { push.id != nil || push.source != nil || push.type != nil }
}

extension KeyedDigest {
    fileprivate mutating func add(identityOf foreign: ForeignContent) {
        add(.foreign, foreign.format)
        add(.foreign, foreign.push.source ?? "")
        add(.foreign, foreign.push.id ?? "")
    }

    fileprivate func key(_ part: KeyPart, _ time: Int64) -> DedupeKey {
        var copy = self
        copy.add(part)
        copy.add(UInt64(bitPattern: time))
        return copy.finish()
    }
}
