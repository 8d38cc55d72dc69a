#if MQTT
import KiiPushLinux

/// How long to wait after a link that has ended, and what is told of its end: a value without clock and socket.
struct LinkPauses {
    private let clientID: String
    private let settings: MQTTSettings
    private var backoff: Backoff
    private var refusalBackoff: Backoff
    /// Why the broker does not let it in, as it was told; nil while another event was told since.
    private var toldRefusal: String?
    /// How many links in a row the broker has ended soon after they were subscribed.
    private var shortLinks = 0

    /// So many short links in a row are most likely cut by another program, which the broker takes for this one.
    private static let suspectLinks = 3

    init(_ settings: MQTTSettings, clientID: String) {
        (self.settings, self.clientID) = (settings, clientID)
        backoff = Backoff(first: settings.backoff, longest: settings.maxBackoff)
        refusalBackoff = Self.refusalBackoff(settings)
    }

    private static func refusalBackoff(_ settings: MQTTSettings) -> Backoff {
        Backoff(first: settings.backoff, longest: settings.maxRefusalBackoff)
    }

    /// Counts a link that is gone.
    ///
    /// - Parameters:
    ///   - what: what has ended it.
    ///   - isByBroker: whether the broker did.
    ///   - held: for how long it was subscribed; zero where it never was.
    ///   - random: what is between 0 and 1, so that not all devices come back at once.
    /// - Returns: what to tell, and how long to wait for another link.
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

    /// Counts that the broker does not let it in.
    ///
    /// - Returns: what to tell, nil where that was what was told last; and how long to wait.
    mutating func afterRefusal(_ why: String, random: Double) -> (words: String?, pause: Duration) {
        defer { toldRefusal = why }
        return (toldRefusal == why ? nil : why, refusalBackoff.next(afterLinkOf: .zero, random: random))
    }

    /// Has the next refusal be told again, since something else was told.
    mutating func forgetRefusal() { toldRefusal = nil }

    /// Has the next refusal be the first.
    mutating func noteAdmission() {
        toldRefusal = nil
        refusalBackoff = Self.refusalBackoff(settings)
    }
}
#endif
