import KiiPush
import KiiPushDelivery
import KiiPushAgent
import KiiPushMQTT

extension ReceiveOptions {
    /// Its options, in the order in which people look for them: sources first.
    static let table = OptionTable<ReceiveOptions>(groups: [
        (heading: "SOURCE is one of", options: sources),
        (heading: "Options of MQTT", options: ofMQTT),
        (heading: "Options", options: ofAgents),
    ])

    private static let sources: [CommandOption<ReceiveOptions>] = [
        .flag("--stdin", "reads one payload per line from standard input; exits once all are handled") {
            $0.named.sources.append("--stdin")
        },
        .value(
            "--unix", "PATH", "listens on this socket; clients send one payload per line, and each gets a reply",
            completes: .file
        ) {
            $0.named.sources.append("--unix")
            $0.named.socket = $1
        },
        .value(
            "--mqtt", "ADDRESS", "mqtt[s]://[user@]host[:port][/topic]: MQTT 3.1.1, QoS 1, persistent session",
            as: text
        ) {
            $0.named.sources.append("--mqtt")
            $0.named.address = $1
        },
        .value(
            "--endpoint", "FILE",
            "a JSON file with the device's endpoint from Kii: MQTT 3.1, the topic as client id", completes: .file
        ) {
            $0.named.sources.append("--endpoint")
            $0.named.endpoint = $1
        },
    ]

    private static func broker<Value: Sendable>(
        _ name: String, _ word: String, _ help: String, completes completion: Completion = .nothing,
        as read: @escaping @Sendable (_ option: String, _ value: String) throws(Arguments.Mistake) -> Value,
        _ set: @escaping @Sendable (inout MQTTSettings, Value) -> Void
    ) -> CommandOption<ReceiveOptions> {
        .value(name, word, help, completes: completion, as: read) { options, value in
            options.named.changes[name, default: []].append { set(&$0, value) }
        }
    }

    private static func broker(
        _ name: String, _ word: String, _ help: String, completes completion: Completion = .nothing,
        _ set: @escaping @Sendable (inout MQTTSettings, String) -> Void
    ) -> CommandOption<ReceiveOptions> {
        broker(name, word, help, completes: completion, as: completion.checked, set)
    }

    static let ofMQTT: [CommandOption<ReceiveOptions>] = [
        broker(
            "--mqtt-topic", "FILTER",
            "a topic besides the address's, or a filter with + and #, such as cmd/+/set; 0:FILTER requests QoS 0. May "
                + "be repeated, up to \(MQTTSettings.mostSubscriptions) topics", as: Named.subscription
        ) { $0.subscriptions.append($1) },
        broker(
            "--mqtt-birth", "TOPIC=TEXT", "published, retained, whenever the agent has connected",
            as: Named.announcement
        ) { $0.birth = $1 },
        broker(
            "--mqtt-will", "TOPIC=TEXT", "published, retained, when the connection is lost, and when the agent ends",
            as: Named.announcement
        ) { $0.will = $1 },
        broker("--client-id", "ID", "the client id; generated and kept in the state directory if not given") {
            $0.clientID = $1
        },
        broker("--password-file", "FILE", "contains the password; readable by its owner only", completes: .file) {
            $0.password = .file($1)
        },
        broker("--ca-file", "FILE", "the CA certificates that verify the broker", completes: .file) { $0.caFile = $1 },
        broker("--cert-file", "FILE", "the client certificate", completes: .file) { $0.certificateFile = $1 },
        broker(
            "--key-file", "FILE", "the key of the client certificate; readable by its owner only", completes: .file
        ) { $0.keyFile = $1 },
        .choice(
            "--mqtt-version", "VERSION", "3.1, 3.1.1 or 5", of: MQTTSettings.Version.allCases.map { ($0.rawValue, $0) }
        ) { options, version in options.named.changes["--mqtt-version"] = [{ $0.version = version }] },
        .flag("--clean-session", "discards the session at the broker when the agent disconnects") { options in
            options.named.changes["--clean-session"] = [{ $0.cleanSession = true }]
        },
    ]

    private static let ofAgents: [CommandOption<ReceiveOptions>] = [
        .value(
            "--rules", "FILE", "the rules; reloaded when the file changes and passes its own tests", completes: .file
        ) { $0.rules = $1 },
        .params, .param,
        .value(
            "--account", "FILE",
            "the account for rules that write to Kii's cloud or send, as for 'kiipush send'; reloaded when Kii refuses "
                + "the token", completes: .file
        ) { $0.account = $1 },
        .state(
            "the directory for payloads, seen messages, dead letters, kills and the client id",
            more:
                "; --stdin and --unix use only $STATE_DIRECTORY, and keep everything in memory if it is not set"
        ) { $0.state = $1 },
        .value(
            "--transport", "NAME", "the network that delivered the payloads of --stdin or --unix, such as apns or fcm",
            completes: .words([Transport.apns, .fcm, .jpush, .mqtt, .quickblox].map(\.name))
        ) { $0.transport = Transport($1) },
        .value("--app", "ID", "the app to serve, instead of the app in the rules") { $0.app = $1 },
        .value(
            "--concurrency", "N", "the most messages handled at once; 8 if not given", as: Arguments.number(1...1000)
        ) { $0.settings.service.concurrency = $1 },
        .value(
            "--in-flight", "N",
            "the most messages of a durable inbox that may be started, and so run again after a crash; 64 if not "
                + "given; fewer than --concurrency count as that many",
            as: Arguments.number(1...1000)
        ) { $0.settings.service.inFlight = $1 },
        .value(
            "--drain", "DURATION",
            "how long handlers may run after SIGTERM before they are cancelled; 10s if not given", as: duration
        ) { $0.settings.service.drain = $1 },
        .value("--metrics", "FILE", "writes metrics for Prometheus to FILE every five seconds", completes: .file) {
            $0.settings.metrics = $1
        },
        .value(
            "--capture", "FILE",
            "records incoming payloads in FILE, as a corpus for 'kiipush rules diff'; its size is limited",
            completes: .file
        ) { $0.settings.capture = $1 },
        .value(
            "--silent-after", "[ROUTE=]TIME",
            "warns if nothing arrives for TIME, such as 10m, or nothing for a route, such as news=1h. May be repeated; "
                + "also shown in the metrics and in 'kiipush status'", as: silence
        ) { $0.settings.silentAfter.append($1) },
        .flag("--quiet", "logs only warnings and errors") { $0.settings.isQuiet = true },
    ]

    /// A text whose errors are reported with a position in it.
    private static let text: @Sendable (String, String) throws(Arguments.Mistake) -> String = { _, text in text }

    private static let duration = Arguments.value("a number and ms, s, m, h or d, such as 10s;") { text in
        Duration(rule: text)
    }

    /// Parses `10m`, for the agent, or `news=1h`, for a route; a route's id may contain the sign.
    private static let silence = Arguments.value(
        "a time of 1s or more, such as 10m, or one of a route, such as news=1h;"
    ) { text -> SilenceLimit? in
        let parts = text.split(separator: "=", omittingEmptySubsequences: false)
        let route = parts.dropLast().joined(separator: "=")
        guard let length = Duration(rule: String(parts.last ?? "")), length >= .seconds(1),
            parts.count == 1 || !route.isEmpty
        else { return nil }
        return SilenceLimit(route: route, length: length)
    }
}

extension ReceiveCommand {
    static let command = Command(
        name: "receive", summary: "receives pushes and runs the handlers of a rules file",
        usage: ["--rules FILE SOURCE [OPTION…]"], options: ReceiveOptions.table.texts,
        notes: [
            "A program that a rule runs gets the message as JSON on standard input, and exits with 0 if it has "
                + "handled the message; see the guide \"Programs as handlers\" "
                + "(Sources/KiiPush/KiiPush.docc/ProgramsAsHandlers.md).",
            "Messages that rules print go to standard output. The log goes to standard error, one line per "
                + "outcome, with priorities for journald; the journal also gets fields such as KIIPUSH_OUTCOME, "
                + "and a terminal gets neither. For one route, at most 60 lines of a kind are logged per minute, "
                + "then one line that counts the rest.",
            "SIGHUP checks the rules and kills for changes at once. SIGTERM or SIGINT stops the agent: it accepts "
                + "no more payloads, lets handlers finish and keeps the rest; a second signal ends it at once.",
        ],
        exits: [
            (.fine, "stopped cleanly"),
            (
                .failed,
                "it could not start or continue, or lost messages that were only in memory, such as dead letters at the "
                    + "end of its input"
            ),
        ],
        action: { arguments, console in await run(arguments, console) })
}
