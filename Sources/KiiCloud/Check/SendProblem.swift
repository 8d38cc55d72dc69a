public import KiiPush

/// A problem of a push before it is sent, or an effect on receivers that the sender may not expect.
public struct SendProblem: Sendable, Hashable {
    /// The kind of problem; the tool prints the raw value.
    @nonexhaustive
    public enum Code: String, Sendable, Hashable, CaseIterable {
        /// An array or an object in data: Kii accepts one level. Encode it as JSON in a string.
        case nestedValue
        /// A null in data: Kii accepts strings, numbers and booleans.
        case nullValue
        /// A number in data that JSON cannot represent.
        case notANumber
        /// A value in FCM's own data that is not a string.
        case notAString
        /// A key in data that the network reserves.
        case reservedKey
        /// The push goes to no network.
        case noNetwork
        /// The payload exceeds the network's limit.
        case tooLarge
        /// The sender may not send to the topic.
        case notAllowed
        /// No topic of Kii's can have this name.
        case impossibleName
        /// A delivery option outside the network's range.
        case outOfRange
        /// FCM is in dry run while APNs is enabled, which Kii refuses.
        case dryRunWithAPNS

        /// Warning: a user sends to another user's topic, on which Kii's guides differ.
        case notOwner
        /// Warning: a delivery option that Kii does not document.
        case undocumented
        /// Warning: a receiver decodes the push as a Direct Push, since the topic's keys are suppressed.
        case looksDirect
        /// Warning: a receiver does not learn the topic of the push, since its key is suppressed.
        case namesNoTopic
        /// Warning: a receiver decodes the push as a Push to App, since a key in data is one of Kii's.
        case looksLikeAppEvent
        /// Warning: keys contradict each other, so routes ignore the push unless they allow ambiguity.
        case ambiguous
        /// Warning: a receiver does not find this key in data, since Kii, Apple or the network uses it.
        case keyNotReceived
        /// Warning: a network has its own data besides the common data; Kii does not document what devices get.
        case ownData

        /// Whether the push can still be sent.
        public var isWarning: Bool {
            switch self {
            case .notOwner, .undocumented, .looksDirect, .namesNoTopic, .looksLikeAppEvent, .ambiguous, .keyNotReceived,
                .ownData:
                true
            default: false
            }
        }
    }

    /// The kind of problem.
    public let code: Code
    /// The network concerned; nil for all.
    public let network: PushNetwork?
    /// The path in the request's body, such as `data.count` or `sendTopicID`.
    public let path: String
    /// What is wrong and how to fix it; never contains a value of the data.
    public let message: String

    /// Whether the push can still be sent.
    public var isWarning: Bool { code.isWarning }

    init(_ code: Code, _ network: PushNetwork? = nil, at path: String, _ message: String) {
        self.code = code
        self.network = network
        self.path = path
        self.message = message
    }
}

extension SendProblem: CustomStringConvertible {
    /// The path, the code and the message, on one line.
    public var description: String { "\(path): \(code.rawValue): \(message)" }
}

/// A push that was not sent because Kii would refuse it.
public struct RefusedMessage: ReportedError, Sendable, Hashable, CustomStringConvertible {
    /// The problems; at least one.
    public let problems: [SendProblem]

    /// The problems, a line each.
    public var description: String { problems.map(\.description).joined(separator: "\n") }

    /// The problems, on one line.
    public var report: String { "not sent: " + problems.map(\.description).joined(separator: "; ") }
}
