import KiiPushSystem

/// The pauses before reconnecting: longer each time, until a connection has lasted for a while.
struct Backoff {
    private let first: Duration
    private let longest: Duration
    /// The last pause without its jitter; zero if the next one is the first.
    private var last = Duration.zero

    init(first: Duration, longest: Duration) {
        self.first = max(first, .milliseconds(1))
        self.longest = max(longest, self.first)
    }

    /// Makes the next pause the first.
    mutating func reset() { last = .zero }

    /// Whether a connection has lasted so long that the pauses start again.
    func isLong(_ held: Duration) -> Bool { held >= max(last * 4, first * 10) }

    /// The next pause, up to 20% longer or shorter than twice the last one; `random` is from 0 up to 1.
    mutating func next(afterLinkOf held: Duration, random: Double) -> Duration {
        // Two devices with the same client id disconnect each other whenever they connect: only a connection that lasts
        // much longer than the pause before it counts as a success.
        if isLong(held) { reset() }
        last = last == .zero ? first : min(last * 2, longest)
        return last * (0.8 + 0.4 * min(max(random, 0), 1))
    }
}

/// Pauses after connections that ended, and the reports about them: a value without clock and socket.
struct LinkPauses {
    private let clientID: String
    private let hasBirth: Bool
    private var backoff: Backoff
    private var refusalBackoff: Backoff
    /// The last reported reason of the broker's refusal; nil if another event was reported since.
    private var toldRefusal: String?
    /// How many connections in a row the broker has ended soon after their subscription.
    private var shortLinks = 0

    /// After this many short connections, another program most likely uses the same client id.
    private static let suspectLinks = 3

    init(_ settings: MQTTSettings, clientID: String) {
        self.clientID = clientID
        hasBirth = settings.birth != nil
        backoff = Backoff(first: settings.backoff, longest: settings.maxBackoff)
        refusalBackoff = Backoff(first: settings.backoff, longest: settings.maxRefusalBackoff)
    }

    /// Counts a lost connection, which was subscribed for that long; returns the report, and the next pause.
    mutating func afterLoss(
        _ what: String, isByBroker: Bool, held: Duration, random: Double
    ) -> (words: String, pause: Duration) {
        toldRefusal = nil
        let isShort = isByBroker && held > .zero && !backoff.isLong(held)
        shortLinks = isShort ? shortLinks + 1 : 0
        let pause = backoff.next(afterLinkOf: held, random: random)
        return (shortLinks < Self.suspectLinks ? what : what + hintOfRival, pause)
    }

    private var hintOfRival: String {
        "; that makes \(shortLinks) short links in a row: another program seems to connect with the client id "
            + "'\(EscapedText(clientID))'; give each its own"
            // Before MQTT 5, a broker cannot refuse a message otherwise.
            + (hasBirth ? ", or allow this user to publish the birth message" : "")
    }

    /// Counts a refusal by the broker; returns the report, nil if it repeats the last one, and the pause.
    mutating func afterRefusal(_ why: String, random: Double) -> (words: String?, pause: Duration) {
        defer { toldRefusal = why }
        return (toldRefusal == why ? nil : why, refusalBackoff.next(afterLinkOf: .zero, random: random))
    }

    /// Makes the next refusal be reported, since another event was reported.
    mutating func forgetRefusal() { toldRefusal = nil }

    /// Makes the next refusal count as the first.
    mutating func noteAdmission() {
        toldRefusal = nil
        refusalBackoff.reset()
    }
}
