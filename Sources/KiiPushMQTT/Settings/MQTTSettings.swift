/// The address of an MQTT broker, this device's identity there, and the topics of its pushes.
///
/// Make it from an address, `mqtts://device@broker.example/pushes/device`, with ``init(address:source:)``; from the
/// endpoint that Kii's cloud returns, with ``init(endpointFile:)``; or property by property. It does not need
/// libmosquitto, so a program can check settings in any build.
public struct MQTTSettings: Sendable, Hashable {
    /// A version of the protocol.
    @nonexhaustive
    public enum Version: String, Sendable, Hashable, CaseIterable {
        /// MQTT 3.1, which Kii's brokers use; it does not report whether a session was kept.
        case v31 = "3.1"
        /// MQTT 3.1.1.
        case v311 = "3.1.1"
        /// MQTT 5.
        case v5 = "5"
    }

    /// The quality of service; 2 is omitted, since a client library that is killed loses messages of that kind.
    public enum Quality: Int, Sendable, Hashable, CaseIterable {
        /// At most once: messages that a broken connection has not delivered are lost.
        case zero = 0
        /// At least once: each message is redelivered until it is acknowledged.
        case one = 1
    }

    /// Where the password comes from.
    public enum Password: Sendable, Hashable {
        /// The password itself.
        case text(String)
        /// A file that contains it, without one final line end; a name without a slash is first searched in
        /// `$CREDENTIALS_DIRECTORY`.
        ///
        /// At most 4 KiB; it must be a regular file of this user or root that nobody else can read.
        case file(String)
    }

    /// The broker's name or address.
    public var host: String
    /// The broker's port.
    public var port: Int
    /// Whether the connection uses TLS with verification of the broker's certificate; neither is available alone.
    public var usesTLS = false
    /// A file of trusted certificates, as PEM, instead of the system's.
    public var caFile: String?
    /// This device's own certificate, as PEM, for a broker that requires one; followed by its chain up to the broker's
    /// authority.
    ///
    /// Needs TLS and a ``keyFile``; nil for none.
    public var certificateFile: String?
    /// The certificate's key, as PEM, without a passphrase; a name without a slash is first searched in
    /// `$CREDENTIALS_DIRECTORY`.
    ///
    /// At most 64 KiB; it must be a regular file of this user or root that nobody else can read.
    public var keyFile: String?
    /// The user name at the broker; nil for none.
    public var user: String?
    /// The user's password.
    public var password: Password?
    /// The topics of the pushes, each with its quality of service: at least one, at most 100.
    ///
    /// The order of a topic's messages is kept. A broker may deliver a message twice that two filters match.
    public var subscriptions: [Subscription]
    /// Filters of the kept session that ``subscriptions`` no longer has: they are unsubscribed at the next connection.
    public var formerFilters: [String] = []
    /// The client id at the broker, at most 256 bytes; it must be unique among concurrent connections.
    ///
    /// A persistent session needs a stable one; with a clean session it may be empty, and is then generated.
    public var clientID = ""
    /// The version of the protocol; 3.1.1 by default.
    public var version = Version.v311
    /// Whether to use MQTT 5 without TLS even if anybody on the network path could then end the process; false by
    /// default.
    ///
    /// libmosquitto before 2.1 aborts the process at one packet with an unknown property. Without this setting, making
    /// such a transport fails.
    public var risksMQTT5 = false
    /// Seconds without traffic after which the connection is tested, from 5 to 65,535; 60 by default.
    ///
    /// A broker of MQTT 5 may demand others. A dead connection is noticed after at most twice that time, above a minute
    /// 30 seconds later; while the inbox is full, or acknowledgements wait for messages to end, only when the system
    /// gives it up.
    public var keepAlive = 60
    /// Whether the broker discards the session, with all messages sent in between, at a disconnect; false by default.
    ///
    /// A persistent session lasts as long as the broker keeps it; MQTT 5 is asked to keep it forever.
    public var cleanSession = false
    /// Whether a session existed before, such as in the program's last run; false by default.
    ///
    /// If so, a broker without the session is reported as a possible gap at the first connection too.
    public var hadSession = false
    /// A file that remembers the topics' retained messages over a restart, as digests; nil, the default, for none.
    ///
    /// A broker sends a retained message again with each subscription, except in a session of MQTT 5 that it has kept.
    /// With the file and a durable inbox each is accepted once per change, for the last 1,000 topics that had one:
    /// equal bytes of one topic count as the same message, unless it is a request with another response topic or other
    /// correlation data. One that is published while the device is connected comes without the retained flag, so it may
    /// be accepted once more after a restart; and another message of the topic may have replaced it, so that it is
    /// accepted again if the broker sends it after that. An empty message, which clears it, is acknowledged and
    /// ignored.
    ///
    /// A second file, its name with `.lost` behind it, remembers a lost session until that has been reported.
    public var retainedFile: String?
    /// A message that is published when the subscriptions are granted, such as `online`; nil for none.
    ///
    /// It has quality of service 1, or 0 if the broker grants no higher one; likewise ``will``, when a connection is
    /// lost.
    public var birth: Announcement?
    /// A message that the broker publishes when the connection is lost, such as `offline`; nil for none.
    ///
    /// A connection that ends as it should publishes it, too, so that a stopped device is not taken for one that runs.
    public var will: Announcement?
    /// The largest payload, in bytes, 64 KiB by default; a larger one is reported, acknowledged and dropped.
    public var payloadLimit = 65_536
    /// The pause after the first lost connection, 1 s by default; each further one doubles it, with 20% jitter.
    public var backoff = Duration.seconds(1)
    /// The longest pause; 2 minutes by default.
    public var maxBackoff = Duration.seconds(120)
    /// The longest pause after the broker has refused the login or the subscription; 5 minutes by default.
    ///
    /// The first is ``backoff``, and each further one twice as long, with 20% jitter, until one is granted.
    public var maxRefusalBackoff = Duration.seconds(300)
    /// The time limit from the first packet to the granted subscription; 30 s by default.
    public var connectLimit = Duration.seconds(30)
    /// How often the files of certificates, key and password are checked: 60 s by default; at least 10 ms.
    ///
    /// If one has changed, and all are valid, the client reconnects with them, in the same session; otherwise the
    /// connection stays. Replace files that belong together within a second.
    package var fileInterval = Duration.seconds(60)

    /// Settings with the defaults for all other properties.
    ///
    /// - Parameters:
    ///   - host: the broker's name or address.
    ///   - port: its port; nil for 1883, or 8883 with TLS.
    ///   - topic: the topic of the pushes, or a filter with `+` and `#`; quality of service 1.
    ///   - usesTLS: whether the connection uses TLS.
    public init(host: String, port: Int? = nil, topic: String, usesTLS: Bool = false) {
        self.host = host
        self.port = port ?? (usesTLS ? 8883 : 1883)
        subscriptions = [Subscription(topic)]
        self.usesTLS = usesTLS
    }

    /// The most subscriptions of a connection: each is a packet of its own, which the broker answers.
    package static let mostSubscriptions = 100

    /// A topic filter, and the quality of service to request for it.
    public struct Subscription: Sendable, Hashable {
        /// The filter: a topic, in which `+` stands for one level and a final `#` for any further ones.
        public var filter: String
        /// The quality of service to request, 1 by default; the granted one is reported.
        public var quality: Quality

        /// Names a filter.
        public init(_ filter: String, quality: Quality = .one) {
            (self.filter, self.quality) = (filter, quality)
        }
    }

    /// A message about the device itself.
    public struct Announcement: Sendable, Hashable {
        /// The topic to publish it to.
        public var topic: String
        /// Its payload; at most 64 KiB.
        public var payload: [UInt8]
        /// Whether the broker keeps it for later subscribers; true by default.
        public var isRetained: Bool

        /// Describes a message.
        public init(topic: String, payload: some Sequence<UInt8>, isRetained: Bool = true) {
            self.topic = topic
            self.payload = Array(payload)
            self.isRetained = isRetained
        }
    }

    /// Whether every subscription requests an acknowledgement.
    var isAcknowledged: Bool { subscriptions.allSatisfy { $0.quality == .one } }
}

// A printout of the settings, such as a crash report, must not contain a password.
extension MQTTSettings.Password: CustomStringConvertible, CustomReflectable {
    /// The source of the password, never itself.
    public var description: String {
        switch self {
        case .text: "a password"
        case .file(let path): "a password in \(path)"
        }
    }

    /// Nothing.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
