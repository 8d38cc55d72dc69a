import KiiCloud
import KiiPush
import KiiPushTesting

// Objects, as in Kii's REST API, and the pushes about their changes.
extension CloudState {
    mutating func create(in bucket: KiiBucket, _ fields: KeyedData, by sender: Sender) -> HTTPResponse {
        let object = KiiObject(bucket: bucket, id: nextID("o"))
        let time = put(object, fields, by: sender)
        return .of(201, ["objectID": .string(object.id), "createdAt": .integer(time)], version: 1)
    }

    mutating func answer(_ request: HTTPRequest, about object: KiiObject, by sender: Sender) -> HTTPResponse {
        guard let old = objects[object] else {
            // Only a replacement without a version creates an object.
            guard request.method == .put, request[header: "If-Match"] == nil else {
                return .refusal(404, "OBJECT_NOT_FOUND")
            }
            return .of(201, ["createdAt": .integer(put(object, request.fields, by: sender))], version: 1)
        }
        if request[header: "If-None-Match"] != nil { return .refusal(409, "OBJECT_ALREADY_EXISTS") }
        if let wanted = request[header: "If-Match"], wanted != "\(old.version)" {
            return .refusal(409, "OBJECT_VERSION_IS_STALE")
        }
        switch request.method {
        case .get: return read(object, old)
        case .delete:
            objects[object] = nil
            push(.objectDeleted, of: object, by: sender, modifiedAt: nil)
            return .of(204)
        case .put:
            let time = put(object, request.fields, by: sender)
            return .of(200, ["modifiedAt": .integer(time)], version: old.version + 1)
        case .post:
            let time = put(object, old.fields.merging(request.fields), by: sender)
            return .of(200, ["_modified": .integer(time)], version: old.version + 1)
        }
    }

    private func read(_ object: KiiObject, _ kept: Kept) -> HTTPResponse {
        var fields = kept.fields
        fields["_id"] = .string(object.id)
        fields["_created"] = .integer(kept.createdAt)
        fields["_modified"] = .integer(kept.modifiedAt)
        fields["_owner"] = .string(kept.owner)
        fields["_version"] = .string("\(kept.version)")
        return .of(200, fields, version: kept.version)
    }

    /// Writes an object, and sends the push about it; returns when it was written.
    private mutating func put(_ object: KiiObject, _ fields: KeyedData, by sender: Sender) -> Int64 {
        let time = now()
        if var kept = objects[object] {
            kept.fields = fields
            kept.version += 1
            kept.modifiedAt = time
            objects[object] = kept
            push(.objectUpdated, of: object, by: sender, modifiedAt: time)
        } else {
            objects[object] = Kept(fields: fields, owner: sender.id, createdAt: time, modifiedAt: time)
            push(.objectCreated, of: object, by: sender, modifiedAt: time)
        }
        return time
    }

    // MARK: Topics, subscriptions, and their pushes

    mutating func create(_ topic: KiiTopic) -> HTTPResponse {
        topics.insert(topic).inserted ? .of(204) : .refusal(409, "TOPIC_ALREADY_EXISTS")
    }

    mutating func answer(
        _ method: HTTPRequest.Method, subscription: CloudPlace, of source: PushSource
    ) -> HTTPResponse {
        if let code = missingCode(of: source) { return .refusal(404, code) }
        guard method != .put else {
            return subscriptions.insert(subscription).inserted
                ? .of(204) : .refusal(409, "PUSH_SUBSCRIPTION_ALREADY_EXISTS")
        }
        return subscriptions.remove(subscription) == nil ? .refusal(404, "PUSH_SUBSCRIPTION_NOT_FOUND") : .of(204)
    }

    /// The code for a source that does not exist; a bucket exists if it has an object or a subscriber.
    private func missingCode(of source: PushSource) -> String? {
        switch source {
        case .topic(let topic): topics.contains(topic) ? nil : "TOPIC_NOT_FOUND"
        case .bucket(let bucket):
            objects.keys.contains { $0.bucket == bucket } || !subscribers(of: source).isEmpty ? nil : "FILTER_NOT_FOUND"
        }
    }

    private func subscribers(of source: PushSource) -> [PushSubscriber] {
        subscriptions.compactMap { place in
            guard case .subscription(source, let subscriber) = place else { return nil }
            return subscriber
        }
    }

    mutating func push(_ body: [UInt8], to topic: KiiTopic, by sender: Sender) -> HTTPResponse {
        guard topics.contains(topic) else { return .refusal(404, "TOPIC_NOT_FOUND") }
        guard SendingRights.refusal(of: sender, to: topic) == nil else { return .refusal(401, "UNAUTHORIZED") }
        let address = PushAddress(app: app, topic: topic, sender: sender, sentAt: now())
        guard let message = try? OutgoingMessage(body: body),
            message.problems(sentTo: address).allSatisfy(\.isWarning)
        else { return .refusal(400, "INVALID_INPUT_DATA") }
        if message.networks.contains(.mqtt) {
            let payload = message.preview(.mqtt, sentTo: address).payload
            for subscriber in subscribers(of: .topic(topic)) { pushes[subscriber, default: []].append(payload) }
        }
        return .of(201, ["pushMessageID": .string(nextID("push"))])
    }

    private mutating func push(_ event: KiiEvent, of object: KiiObject, by sender: Sender, modifiedAt: Int64?) {
        let fixture = PayloadFixture.change(
            event, of: object, sender: sender.id, sentAt: now(), modifiedAt: modifiedAt, app: app)
        for subscriber in subscribers(of: .bucket(object.bucket)) {
            pushes[subscriber, default: []].append(fixture.payload(.long))
        }
    }
}
