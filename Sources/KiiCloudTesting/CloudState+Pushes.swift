import KiiCloud
import KiiPush
import KiiPushTesting

// Topics, subscriptions, and their pushes.
extension CloudState {
    mutating func create(_ topic: KiiTopic) -> HTTPResponse {
        topics.insert(topic).inserted ? .of(204) : .refusal(409, "TOPIC_ALREADY_EXISTS")
    }

    mutating func answer(
        _ method: HTTPRequest.Method, subscription: CloudPlace, of source: PushSource
    ) -> HTTPResponse {
        guard has(source) else { return .refusal(404, source.missingCode) }
        guard method != .put else {
            return subscriptions.insert(subscription).inserted
                ? .of(204) : .refusal(409, "PUSH_SUBSCRIPTION_ALREADY_EXISTS")
        }
        return subscriptions.remove(subscription) == nil ? .refusal(404, "PUSH_SUBSCRIPTION_NOT_FOUND") : .of(204)
    }

    /// Whether a source exists; a bucket exists once it has had an object, and as long as it has a subscriber.
    private func has(_ source: PushSource) -> Bool {
        switch source {
        case .topic(let topic): topics.contains(topic)
        case .bucket(let bucket):
            objects.keys.contains { $0.bucket == bucket } || !subscribers(of: source).isEmpty
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

    /// Notifies a bucket's subscribers of an object's change.
    mutating func push(_ event: KiiEvent, of object: KiiObject, by sender: Sender, modifiedAt: Int64?) {
        let fixture = PayloadFixture.pushToApp(
            bucket: object.bucket.name, object: object.id, event: event, scope: object.bucket.scope, sender: sender.id,
            sentAt: now(), modifiedAt: modifiedAt, app: app)
        for subscriber in subscribers(of: .bucket(object.bucket)) {
            pushes[subscriber, default: []].append(fixture.payload(.long))
        }
    }
}

extension PushSource {
    fileprivate var missingCode: String {
        switch self {
        case .topic: "TOPIC_NOT_FOUND"
        case .bucket: "FILTER_NOT_FOUND"
        }
    }
}
