import KiiPush

/// The options of `kiipush inspect`.
struct InspectOptions {
    var transport: Transport?
    var app: String?
    var byLines = false
    var isStrict = false
    var format = ReportFormat.text
    var files: [String] = []

    static let table = OptionTable<InspectOptions>([
        .choice(
            "--transport", "NAME",
            "the network it came over: apns, fcm, jpush, mqtt or quickblox; without it the payload itself decides how "
                + "it is read", of: [Transport.apns, .fcm, .jpush, .mqtt, .quickblox].map { ($0.name, $0) }
        ) { $0.transport = $1 },
        .value("--app", "ID", "the app that it should be of; another one's has the conflict appID") { $0.app = $1 },
        .flag("--lines", "one payload a line; empty lines are passed over") { $0.byLines = true },
        .flag("--strict", "exits with 2 when a payload is ambiguous") { $0.isStrict = true },
        .format("text for people (the default), or json: one object a line") { $0.format = $1 },
    ])
}

extension InspectCommand {
    static let command = Command(
        name: "inspect", summary: "shows a payload's kind, the evidence for it, and its fields",
        usage: ["[OPTION…] [FILE…]"],
        about: [.text("Reads one payload a file, or standard input when no file (or -) is named.")],
        options: InspectOptions.table.texts, operands: .file,
        notes: [
            .text(
                "What cannot be read is reported on standard error as FILE:LINE:COLUMN: CODE: WHAT, and the next "
                    + "payload is read as usual.")
        ],
        exits: [
            (.fine, "each payload could be read"), (.failed, "one could not"),
            (.ambiguous, "one is ambiguous, under --strict"),
        ],
        examples: [#"echo '{"bucketID":"settings","objectScopeType":"APP"}' | kiipush inspect"#],
        action: { arguments, console in run(arguments, console) })
}
