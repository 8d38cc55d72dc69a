public import KiiPush

/// The id that Kii assigns to a sent push; no payload contains it.
public struct PushMessageID: Sendable, Hashable {
    /// The id.
    public let text: String
}

extension CloudRequest where Answer == PushMessageID {
    /// Sends a push to a topic; check ``OutgoingMessage/problems(sentTo:)`` first.
    public static func send(_ message: OutgoingMessage, to topic: KiiTopic) -> Self {
        let headers = [
            HTTPHeader("Content-Type", "application/vnd.kii.SendPushMessageRequest+json"),
            HTTPHeader("Accept", "application/vnd.kii.SendPushMessageResponse+json"),
        ]
        return Self(.post, CloudPath(topic).appending("push", "messages"), headers: headers, body: message.body) {
            PushMessageID(text: try $0.text("pushMessageID", in: try $0.members(of: 201, 200)))
        }
    }

    /// Sends a push to a topic, if the check finds no problem.
    static func checkedSend(
        _ message: OutgoingMessage, to topic: KiiTopic, as sender: Sender, app: String
    ) throws(RefusedMessage) -> Self {
        // Any time has the same number of digits.
        let address = PushAddress(app: app, topic: topic, sender: sender, sentAt: 1_700_000_000_000)
        let problems = message.problems(sentTo: address).filter { !$0.isWarning }
        guard problems.isEmpty else { throw RefusedMessage(problems: problems) }
        return .send(message, to: topic)
    }
}

/// A source of pushes.
@nonexhaustive
public enum PushSource: Sendable, Hashable {
    /// A topic, for the messages sent to it.
    case topic(KiiTopic)
    /// A bucket, for the changes in it.
    case bucket(KiiBucket)
}

/// A subscriber to pushes.
@nonexhaustive
public enum PushSubscriber: Sendable, Hashable {
    /// A user, with all their devices.
    case user(KiiUser)
    /// A thing.
    case thing(KiiThing)
}

extension CloudRequest where Answer == Bool {
    /// Creates a topic; the answer is false if it already exists.
    public static func createTopic(_ topic: KiiTopic) -> Self {
        Self(.put, CloudPath(topic)) { try $0.fields(204, 201, no: .topicAlreadyExists) != nil }
    }

    /// Subscribes; the answer is false if the subscription already existed.
    public static func subscribe(_ subscriber: PushSubscriber, to source: PushSource) -> Self {
        Self(.put, CloudPath(source, subscriber)) { try $0.fields(204, 201, no: .pushSubscriptionAlreadyExists) != nil }
    }

    /// Unsubscribes, which ends a loop of pushes from outside; the answer is false if there was no subscription.
    public static func unsubscribe(_ subscriber: PushSubscriber, from source: PushSource) -> Self {
        Self(.delete, CloudPath(source, subscriber)) { try $0.fields(204, 200, no: .pushSubscriptionNotFound) != nil }
    }

    /// Removes an installation; the answer is false if it did not exist.
    public static func uninstall(_ installation: String) -> Self {
        Self(.delete, CloudPath(.app, "installations", installation)) {
            try $0.fields(204, 200, no: .installationNotFound) != nil
        }
    }
}

extension CloudPath {
    fileprivate init(_ source: PushSource, _ subscriber: PushSubscriber) {
        let path =
            switch source {
            case .topic(let topic): CloudPath(topic)
            case .bucket(let bucket): CloudPath(bucket).appending("filters", "all")
            }
        self =
            switch subscriber {
            case .user(let user): path.appending("push", "subscriptions", "users", user.id)
            case .thing(let thing): path.appending("push", "subscriptions", "things", thing.id)
            }
    }
}

extension CloudRequest where Answer == Installation {
    /// Installs a device for development or production pushes over MQTT: a thing's, or if nil the token's owner's.
    public static func install(isDevelopment: Bool, of thing: KiiThing? = nil) -> Self {
        let body = JSONWriter.object { writer in
            writer.member("deviceType", "MQTT")
            writer.member("development", isDevelopment)
            if let thing { writer.member("thingID", thing.id) }
        }
        let type = HTTPHeader("Content-Type", "application/vnd.kii.InstallationCreationRequest+json")
        return Self(.post, CloudPath(.app, "installations"), headers: [type], body: body) {
            Installation(id: try $0.text("installationID", in: try $0.members(of: 201, 200)))
        }
    }
}

extension CloudRequest where Answer == MQTTEndpointAnswer {
    /// Requests the MQTT endpoint of an installed device.
    ///
    /// It is not ready right after the installation: ask again until it is.
    public static func mqttEndpoint(of installation: String) -> Self {
        Self(.get, CloudPath(.app, "installations", installation, "mqtt-endpoint")) { response in
            if response.status == 503 { return .notReady(retryAfter: response.error().retryAfter) }
            return .ready(try MQTTEndpoint(response))
        }
    }
}
