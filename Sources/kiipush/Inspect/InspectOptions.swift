import KiiPush
import KiiPushAgent

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
            "the network that delivered the payload: apns, fcm, jpush, mqtt or quickblox; detected from the payload if "
                + "not given", of: [Transport.apns, .fcm, .jpush, .mqtt, .quickblox].map { ($0.name, $0) }
        ) { $0.transport = $1 },
        .value("--app", "ID", "the expected app; a payload of another app gets the conflict appID") { $0.app = $1 },
        .flag("--lines", "reads one payload per line; skips empty lines") { $0.byLines = true },
        .flag("--strict", "exits with 2 if a payload is ambiguous") { $0.isStrict = true },
        .format("text for people (the default), or json: one object a line") { $0.format = $1 },
    ])
}

extension InspectCommand {
    static let command = Command(
        name: "inspect", summary: "shows a payload's kind, the evidence for it, and its fields",
        usage: ["[OPTION…] [FILE…]"],
        about: [
            .text(
                "Reads one payload per file, or standard input if no file (or -) is given: JSON; a line of 'kiipush receive "
                    + "--capture' or of 'kiipush tap --format json'; or what a log prints of a payload, such as "
                    + "Apple's and Swift's descriptions of a dictionary, its bytes in hexadecimal, or a map of Java.")
        ],
        options: InspectOptions.table.texts, operands: .file,
        notes: [
            .text(
                "Unreadable payloads are reported on standard error as FILE:LINE:COLUMN: CODE: MESSAGE, and do not "
                    + "stop the run.")
        ],
        exits: [
            (.fine, "every payload is readable"), (.failed, "a payload is unreadable"),
            (.ambiguous, "a payload is ambiguous, under --strict"),
        ],
        examples: [#"echo '{"bucketID":"settings","objectScopeType":"APP"}' | kiipush inspect"#],
        action: { arguments, console in run(arguments, console) })
}
