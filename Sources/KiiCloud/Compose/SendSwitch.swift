/// A switch that makes Kii add keys to a push; the raw value is its name in the request.
public enum SendSwitch: String, Sendable, Hashable, CaseIterable {
    /// The sender: `s`, `sender`. On by default.
    case sender = "sendSender"
    /// The topic's scope: `sa`, `st`, `su`, `sg`, `sth` and their long names. On by default.
    case objectScope = "sendObjectScope"
    /// The topic: `to`, `topic`. On by default; without it a receiver decodes the push as a Direct Push.
    case topicID = "sendTopicID"
    /// The time of sending: `w`, `when`. On here; Kii's documents contradict each other on the default, so it is always
    /// stated.
    case when = "sendWhen"
    /// The sending app: `a`, `appID`. Off by default.
    case appID = "sendAppID"
    /// The origin, which marks an explicitly sent push: `o`, `origin`. Off by default.
    case origin = "sendOrigin"

    /// The switches that are on by default.
    public static let standard: Set<SendSwitch> = [.sender, .objectScope, .topicID, .when]
}
