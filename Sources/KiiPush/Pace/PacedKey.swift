/// A key whose messages wait, because more came than it handles at once; a snapshot.
public struct PacedKey: Sendable, Hashable {
    /// What its messages have in common.
    @nonexhaustive
    public enum Level: String, Sendable, Hashable, CaseIterable {
        /// They are about one object, for the same routes; the newest change replaces older ones that wait.
        case object
        /// They are of one topic and sender, one conversation or one issuer of commands, for the same routes.
        case letters
        /// They are of new keys, for a route that has a pace of its own.
        case route
        /// They are of new keys, for any route with the standard pace.
        case device
        /// Their handlers declare writes, for one route, whose budget of these is spent.
        case writes
    }

    /// What its messages have in common.
    public let level: Level
    /// The route, of several the slowest one; of a device's key, that of the message that waited first.
    public let route: String
    /// The object or topic, as a `kiicloud://` URI, else the kind of the message that waited first, or `writes`.
    public let subject: String
    /// Since when messages wait.
    public let since: MonotonicInstant
    /// How many wait now; of writes, how many were refused whose time to try again has not come.
    public internal(set) var waiting: Int
    /// How many were superseded since then.
    public internal(set) var superseded = 0

    /// Why they wait and what lifts that, in one line that names no value of a payload but the object or topic.
    public var sentence: String {
        let route = Suggestion.shown(route)
        let wait = "came at once for route \(route): they wait some seconds, to see whether they come by themselves"
        let what =
            switch level {
            case .object: "many changes of \(subject) \(wait)"
            case .letters: "many messages of \(subject) \(wait)"
            case .route, .device: "many new objects, senders or topics \(wait)"
            case .writes: "handlers of route \(route) write for many messages: one each ten seconds is handled"
            }
        return "\(what); \"pace\": \"unlimited\" in the rule, or RouteOptions(pace: .unlimited), lifts this"
    }
}
