#if MQTT
import KiiPushSystem

/// Pauses after connections that ended, and the reports about them: a value without clock and socket.
struct LinkPauses {
    private let clientID: String
    private let settings: MQTTSettings
    private var backoff: Backoff
    private var refusalBackoff: Backoff
    /// The last reported reason of the broker's refusal; nil if another event was reported since.
    private var toldRefusal: String?
    /// How many connections in a row the broker has ended soon after their subscription.
    private var shortLinks = 0

    /// After this many short connections, another program most likely uses the same client id.
    private static let suspectLinks = 3

    init(_ settings: MQTTSettings, clientID: String) {
        (self.settings, self.clientID) = (settings, clientID)
        backoff = Backoff(first: settings.backoff, longest: settings.maxBackoff)
        refusalBackoff = Self.refusalBackoff(settings)
    }

    private static func refusalBackoff(_ settings: MQTTSettings) -> Backoff {
        Backoff(first: settings.backoff, longest: settings.maxRefusalBackoff)
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
    }

    /// Counts a refusal by the broker.
    ///
    /// - Returns: the report, nil if it repeats the last one; and the pause.
    mutating func afterRefusal(_ why: String, random: Double) -> (words: String?, pause: Duration) {
        defer { toldRefusal = why }
        return (toldRefusal == why ? nil : why, refusalBackoff.next(afterLinkOf: .zero, random: random))
    }

    /// Makes the next refusal be reported, since another event was reported.
    mutating func forgetRefusal() { toldRefusal = nil }

    /// Makes the next refusal count as the first.
    mutating func noteAdmission() {
        toldRefusal = nil
        refusalBackoff = Self.refusalBackoff(settings)
    }
}
#endif
