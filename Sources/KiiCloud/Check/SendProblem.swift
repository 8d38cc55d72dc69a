/// What is wrong with a push that is to be sent, or what its receivers will not see as the sender may think.
public struct SendProblem: Sendable, Hashable {
    /// What it is; the raw value is the name that the tool prints.
    @nonexhaustive
    public enum Code: String, Sendable, Hashable, CaseIterable {
        /// An array or an object in data: Kii takes one level. Put it into a string, as JSON.
        case nestedValue
        /// A null in data: Kii takes strings, numbers and booleans.
        case nullValue
        /// A number in data that JSON cannot write.
        case notANumber
        /// A value in FCM's own data that is no string.
        case notAString
        /// A key in data that the network keeps for itself.
        case reservedKey
        /// The push goes to no network.
        case noNetwork
        /// The payload is larger than the network takes.
        case tooLarge
        /// The sender has no right to send to the topic.
        case notAllowed
        /// FCM is to send nothing while APNs is on, which Kii refuses.
        case dryRunWithAPNS

        /// Warning: a receiver takes the push for a Direct Push, since what names the topic is suppressed.
        case looksDirect
        /// Warning: a receiver takes the push for a Push to App, since a key in data is one of Kii's.
        case looksLikeAppEvent
        /// Warning: keys contradict each other, so a receiver's routes leave the push alone unless they say otherwise.
        case ambiguous
        /// Warning: a receiver does not find this key in data, since it is one of Kii's, Apple's or the network's.
        case keyNotReceived
        /// Warning: a network has data of its own beside the data for all; the documents do not say what devices get.
        case ownData

        /// Whether the push can be sent all the same.
        public var isWarning: Bool {
            switch self {
            case .looksDirect, .looksLikeAppEvent, .ambiguous, .keyNotReceived, .ownData: true
            default: false
            }
        }
    }

    /// What it is.
    public let code: Code
    /// The network that it is about; nil for all.
    public let network: PushNetwork?
    /// Where, by the names of the request's body, such as `data.count` or `sendTopicID`.
    public let path: String
    /// What is wrong and what to do about it; never holds a value of the data.
    public let message: String

    /// Whether the push can be sent all the same.
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
