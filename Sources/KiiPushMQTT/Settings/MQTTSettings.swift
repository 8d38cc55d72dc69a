/// Where an MQTT broker is, who this device is there, and which topic brings its pushes.
///
/// Make it from an address, `mqtts://device@broker.example/pushes/device`, by ``init(address:source:)``; from what
/// Kii's cloud answers when it is asked for an endpoint, by ``init(endpointFile:)``; or property by property. Nothing
/// of it needs libmosquitto, so a program can check settings in any build.
public struct MQTTSettings: Sendable, Hashable {
    /// A version of the protocol.
    public enum Version: String, Sendable, Hashable, CaseIterable {
        /// MQTT 3.1, which Kii's brokers speak; it does not tell whether a session was kept.
        case v31 = "3.1"
        /// MQTT 3.1.1.
        case v311 = "3.1.1"
        /// MQTT 5.
        case v5 = "5"
    }

    /// How a broker delivers; 2 is not there, since a client library that is killed loses messages of that kind.
    public enum Quality: Int, Sendable, Hashable, CaseIterable {
        /// At most once: what a link that breaks has not brought is lost.
        case zero = 0
        /// At least once: each message is acknowledged, and comes again until it is.
        case one = 1
    }

    /// When messages are acknowledged that an inbox in memory has taken; those that lie on disk are at once.
    public enum Acknowledgement: String, Sendable, Hashable, CaseIterable {
        /// When they have ended, so that a crash loses none.
        ///
        /// All that have come meanwhile are acknowledged together, when the last of them has ended; where one is to be
        /// tried later, the link is made again and the broker sends all of them again. So while one takes long, the
        /// broker sends no more than its window, 20 messages of mosquitto's, and 1,024 are read at the most.
        case whenEnded
        /// When they are taken, so that a slow one holds nothing up; what has not ended is lost with the process.
        case onTake
    }

    /// What stands for a password.
    public enum Password: Sendable, Hashable {
        /// The password itself.
        case text(String)
        /// A file that has it, less one line end; a name without a slash is looked for in `$CREDENTIALS_DIRECTORY`
        /// first.
        ///
        /// At most 4 KiB; a regular file of this user or root that nobody else can read, else it is refused.
        case file(String)
    }

    /// The broker's name or address.
    public var host: String
    /// The broker's port.
    public var port: Int
    /// Whether the link is encrypted, and the broker proves its name; there is no way to leave out either alone.
    public var usesTLS = false
    /// A file of certificates, as PEM, to trust instead of the system's.
    public var caFile: String?
    /// This device's own certificate, as PEM, for a broker that asks for one; behind it those up to the broker's
    /// authority.
    ///
    /// Needs TLS and a ``keyFile``; nil for none.
    public var certificateFile: String?
    /// The certificate's key, as PEM, without a passphrase; a name without a slash is looked for in
    /// `$CREDENTIALS_DIRECTORY` first.
    ///
    /// At most 64 KiB; a regular file of this user or root that nobody else can read, else it is refused.
    public var keyFile: String?
    /// The user's name there; nil for none.
    public var user: String?
    /// The user's password.
    public var password: Password?
    /// The topic that brings pushes: exactly this one, no wildcards.
    public var topic: String
    /// What the broker knows this device by, at most 256 bytes; no two connections at once may have the same.
    ///
    /// A lasting session needs one that stays the same; with a clean one it may be empty, and is made up then.
    public var clientID = ""
    /// The version of the protocol: 3.1.1.
    public var version = Version.v311
    /// Whether MQTT 5 is spoken without TLS also where that lets anybody on the way end the process: no.
    ///
    /// libmosquitto before 2.1 ends it at one packet with an unknown property. Without this a transport is not made
    /// then.
    public var risksMQTT5 = false
    /// The quality of service to ask for: 1; what the broker grants is reported.
    public var quality = Quality.one
    /// When messages are acknowledged that lie in memory: when they have ended.
    ///
    /// What an inbox on disk has taken is acknowledged at once in any case.
    public var acknowledges = Acknowledgement.whenEnded
    /// Seconds without traffic after which the link is tried, from 5 to 65,535: 60.
    ///
    /// A link that died unseen is noticed after twice as long, at the latest; while there is no room, or
    /// acknowledgements wait for messages to end, when the system gives it up.
    public var keepAlive = 60
    /// Whether the broker forgets this device when the link goes, and all that is sent meanwhile: no.
    ///
    /// A lasting session lasts as long as the broker keeps it; MQTT 5 is asked to keep it without end.
    public var cleanSession = false
    /// Whether a session existed before, such as in the last run of this program: no.
    ///
    /// Then a broker that does not know it any more is a possible gap at the first connection too.
    public var hadSession = false
    /// The largest payload that is handed over, in bytes: 64 KiB; a larger one is reported, acknowledged and left.
    public var payloadLimit = 65_536
    /// The pause after the first lost link: 1 s, doubled for each further one, each up to 20% longer or shorter.
    public var backoff = Duration.seconds(1)
    /// The longest pause: 2 minutes.
    public var maxBackoff = Duration.seconds(120)
    /// The longest pause after the broker has refused the login or the subscription: 5 minutes.
    ///
    /// The first is ``backoff``, each further one twice as long, up to 20% longer or shorter, until one is granted.
    public var maxRefusalBackoff = Duration.seconds(300)
    /// How long it may take from the first packet until the subscription is granted: 30 s.
    public var connectLimit = Duration.seconds(30)
    /// How often the files of certificates, key and password are looked at: 60 s; at least 10 ms.
    ///
    /// When one has changed, and all are of use, the link is made anew with them, in the same session; else it stays as
    /// it is. Files that go together should be replaced within a second.
    public var fileInterval = Duration.seconds(60)
    /// How long Kii's topic is good for after its endpoint was asked for; nil when nothing says so.
    ///
    /// Nothing here acts on it: when it is over, ask for another endpoint.
    public var topicLifetime: Duration?

    /// Settings with the defaults for everything that is not named.
    ///
    /// - Parameters:
    ///   - host: the broker's name or address.
    ///   - port: its port; nil for 1883, or 8883 with TLS.
    ///   - topic: the topic that brings pushes.
    ///   - usesTLS: whether the link is encrypted.
    public init(host: String, port: Int? = nil, topic: String, usesTLS: Bool = false) {
        self.host = host
        self.port = port ?? (usesTLS ? 8883 : 1883)
        self.topic = topic
        self.usesTLS = usesTLS
    }
}

// What prints settings, a crash report among them, must not print a password.
extension MQTTSettings.Password: CustomStringConvertible, CustomReflectable {
    /// Where the password is, never itself.
    public var description: String {
        switch self {
        case .text: "a password"
        case .file(let path): "a password in \(path)"
        }
    }

    /// Nothing.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
