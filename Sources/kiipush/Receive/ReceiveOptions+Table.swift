import KiiPush
import KiiPushDelivery
import KiiPushLinux
import KiiPushMQTT

extension ReceiveOptions {
    /// Its options, in the order in which people look for them: sources first.
    static let table = OptionTable<ReceiveOptions>(groups: [
        OptionTable.Group(heading: "SOURCE is one of", options: sources),
        OptionTable.Group(heading: "Options of MQTT", options: ofMQTT),
        OptionTable.Group(heading: "Options", options: ofAgents),
    ])

    private static let sources: [CommandOption<ReceiveOptions>] = [
        .flag("--stdin", "a payload a line on standard input; ends when that does and all is handled") {
            $0.named.sources.append("--stdin")
        },
        .value(
            "--unix", "PATH", "a payload a line from programs that connect to this socket; each is answered",
            completes: .file
        ) {
            $0.named.sources.append("--unix")
            $0.named.socket = $1
        },
        .value(
            "--mqtt", "ADDRESS", "mqtt[s]://[user@]host[:port]/topic: MQTT 3.1.1, QoS 1, a lasting session",
            as: text
        ) {
            $0.named.sources.append("--mqtt")
            $0.named.address = $1
        },
        .value(
            "--endpoint", "FILE",
            "the endpoint that Kii gives a device, a JSON file: MQTT 3.1, the topic as the client id", completes: .file
        ) {
            $0.named.sources.append("--endpoint")
            $0.named.endpoint = $1
        },
    ]

    private static let ofMQTT: [CommandOption<ReceiveOptions>] = [
        .value("--client-id", "ID", "the client id, instead of one that is made for the state directory") {
            $0.named.clientID = $1
        },
        .value("--password-file", "FILE", "holds the password; only its owner may read it", completes: .file) {
            $0.named.passwordFile = $1
        },
        .value("--ca-file", "FILE", "the certificates that the broker's is checked by", completes: .file) {
            $0.named.caFile = $1
        },
        .value("--cert-file", "FILE", "this device's certificate", completes: .file) {
            $0.named.certificateFile = $1
        },
        .value("--key-file", "FILE", "the key of that certificate; only its owner may read it", completes: .file) {
            $0.named.keyFile = $1
        },
        .choice(
            "--mqtt-version", "VERSION", "3.1, 3.1.1 or 5", of: MQTTSettings.Version.allCases.map { ($0.rawValue, $0) }
        ) { $0.named.version = $1 },
        .flag("--clean-session", "keeps nothing at the broker while the agent is away") { $0.named.isClean = true },
    ]

    private static let ofAgents: [CommandOption<ReceiveOptions>] = [
        .value(
            "--rules", "FILE", "the rules; they are loaded anew when the file changes and passes its own tests",
            completes: .file
        ) { $0.rules = $1 },
        .value(
            "--account", "FILE",
            "who calls which app, for rules that write to Kii's cloud or send: as for 'kiipush send'; read again when "
                + "Kii refuses the token", completes: .file
        ) { $0.account = $1 },
        .state(
            "where payloads, seen messages, dead letters, open breakers, kills and the client id are kept",
            more:
                "; but --stdin and --unix take only the first of these, and keep everything in memory where it is not "
                + "set"
        ) { $0.state = $1 },
        .value(
            "--transport", "NAME", "the network that the lines of --stdin or --unix came over, such as apns or fcm",
            completes: .words([Transport.apns, .fcm, .jpush, .mqtt, .quickblox].map(\.name))
        ) { $0.transport = Transport($1) },
        .value("--app", "ID", "the app that is served, instead of the file's") { $0.app = $1 },
        .value("--concurrency", "N", "how many messages are handled at once: 8", as: Arguments.number(1...1000)) {
            $0.service.concurrency = $1
        },
        .value(
            "--in-flight", "N",
            "how many messages may be begun in a durable inbox, and so run again after a crash: 64; at least as many "
                + "as are handled at once",
            as: Arguments.number(1...1000)
        ) { $0.service.inFlight = $1 },
        .value(
            "--drain", "DURATION", "how long handlers may finish after SIGTERM, before they are cancelled: 10s",
            as: duration
        ) { $0.service.drain = $1 },
        .value("--metrics", "FILE", "counts for Prometheus, written every five seconds", completes: .file) {
            $0.metrics = $1
        },
        .value(
            "--capture", "FILE",
            "keeps what comes in, as a corpus for 'kiipush rules diff'; bounded, with the payloads", completes: .file
        ) { $0.capture = $1 },
        .value(
            "--silent-after", "[ROUTE=]TIME",
            "warns when nothing came for so long, such as 10m; or nothing for a route, such as news=1h. May be given "
                + "several times; also in the metrics and in 'kiipush status'", as: silence
        ) { $0.silentAfter.append($1) },
        .flag("--quiet", "logs troubles only") { $0.isQuiet = true },
    ]

    /// A text whose errors are reported with a position in it.
    private static let text: @Sendable (String, String) throws(Arguments.Mistake) -> String = { _, text in text }

    private static let duration: @Sendable (String, String) throws(Arguments.Mistake) -> Duration = {
        option, text throws(Arguments.Mistake) in
        guard let duration = Duration(rule: text) else {
            throw Arguments.Mistake(
                text: "\(option) takes a number and ms, s, m, h or d, such as 10s; not '\(escaped(text))'")
        }
        return duration
    }

    /// Parses `10m`, for the agent, or `news=1h`, for a route; a route's id may contain the sign.
    private static let silence: @Sendable (String, String) throws(Arguments.Mistake) -> SilenceWatch.Limit = {
        option, text throws(Arguments.Mistake) in
        let parts = text.split(separator: "=", omittingEmptySubsequences: false)
        let route = parts.dropLast().joined(separator: "=")
        guard let length = Duration(rule: String(parts.last ?? "")), length >= .seconds(1),
            parts.count == 1 || !route.isEmpty
        else {
            throw Arguments.Mistake(
                text: "\(option) takes a time of 1s or more, such as 10m, or one of a route, such as news=1h; "
                    + "not '\(escaped(text))'")
        }
        return SilenceWatch.Limit(route: route, length: length)
    }
}

extension ReceiveCommand {
    static let command = Command(
        name: "receive", summary: "receives pushes and runs the handlers of a rules file",
        usage: ["--rules FILE SOURCE [OPTION…]"], options: ReceiveOptions.table.texts,
        notes: [
            .text(
                "A program that a rule runs gets the message as JSON on standard input, and has handled it when it "
                    + "ends with 0; all about it is in the guide \"Programs as handlers\" "
                    + "(Sources/KiiPush/KiiPush.docc/ProgramsAsHandlers.md)."),
            .text(
                "What a rule prints goes to standard output, the log to standard error, a line an outcome with the "
                    + "priority that journald reads; in the journal itself with fields such as KIIPUSH_OUTCOME, on a "
                    + "terminal without either. Of one route and bucket, topic or sender it logs at most 10 a minute "
                    + "of a kind, then a line that counts the others."),
            .text(
                "SIGHUP has it look at its rules and kills at once. SIGTERM or SIGINT stops it: nothing more is taken "
                    + "in, handlers finish, the rest is kept; a second one ends it at once."),
        ],
        exits: [
            (.fine, "stopped cleanly"),
            (.failed, "it could not start or go on, or lost messages that lay in memory"),
        ],
        action: { arguments, console in await run(arguments, console) })
}
