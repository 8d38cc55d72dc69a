import CLibrary
import KiiCloud
import KiiPush
import KiiPushAgent
import KiiPushRules
import KiiPushSystem

struct SendCommand: CommandWithOptions {
    private var address = PushAddress(
        app: Self.unknownApp, topic: KiiTopic(scope: .app, name: ""), sender: PushAddress.developer, sentAt: 0)
    private var message = ""
    private var format = ReportFormat.text
    /// The file with the account; empty for a dry run without one.
    private var account = ""
    private var isDryRun = false

    private var topic: String?
    private var sender: String?
    private var app: String?
    private var sentAt: Int64?

    /// The placeholder for an app id that was not named: as long as all app ids in Kii's documents.
    static let unknownApp = "<app id>"

    static let table = OptionTable<SendCommand>([
        .value(
            "--topic", "URI",
            "the topic: kiicloud://topics/T, or kiicloud://users/ID/topics/T, likewise for groups and things; may "
                + "start with an app's id, as in kiicloud://APP/users/ID/topics/T"
        ) { $0.topic = $1 },
        .value("--as", "SENDER", "the sender: user:ID, thing:ID, or developer for the app's administrator") {
            $0.sender = $1
        },
        .value(
            "--message", "FILE", "the body for Kii's REST API, a SendPushMessageRequest; - is standard input",
            completes: .file
        ) { $0.message = $1 },
        .account { $0.account = $1 },
        .flag("--dry-run", "sends nothing, and shows what devices would receive") { $0.isDryRun = true },
        .value("--app", "ID", "the app's id, which is part of the scope in the payload") { $0.app = $1 },
        .value(
            "--at", "MILLISECONDS", "the time of sending, in milliseconds since 1970; now if not given",
            as: Arguments.milliseconds()
        ) { $0.sentAt = $1 },
        .format("text for people (the default), or json: one object a line for each network") { $0.format = $1 },
    ])

    mutating func check(_ operands: [String]) throws(Arguments.Mistake) {
        try Arguments.none(operands)
        guard isDryRun || CloudConnection.isBuilt else {
            throw Arguments.Mistake(
                text: CloudConnection.missing + ", or add --dry-run, which shows what devices would get")
        }
        guard let topic else { throw Arguments.Mistake(text: "--topic is missing: name the topic by its URI") }
        guard let sender else { throw Arguments.Mistake(text: "--as is missing: say who sends, such as user:ID") }
        guard !message.isEmpty else { throw Arguments.Mistake(text: "--message is missing: name a file, or -") }
        if !isDryRun {
            try CloudOption.check(account: account)
            try Arguments.checkStandardInput([account, message])
        }
        address.sender = try Self.sender(sender)
        try setTopic(topic)
        address.sentAt = sentAt ?? UTCDate.now.milliseconds
    }

    func run(_ console: Console) async -> ExitCode { isDryRun ? show(console) : await send(console) }

    private mutating func setTopic(_ text: String) throws(Arguments.Mistake) {
        guard let uri = KiiURI(text), let topic = uri.topic else {
            throw Arguments.Mistake(
                text: "--topic takes the URI of a topic, such as kiicloud://users/ID/topics/T, not '\(escaped(text))'")
        }
        if let app, let named = uri.appID, app != named {
            throw Arguments.Mistake(text: "--app and --topic name different apps")
        }
        address.topic = topic
        address.app = app ?? uri.appID ?? Self.unknownApp
    }

    private static func sender(_ text: String) throws(Arguments.Mistake) -> Sender {
        if text == "developer" { return PushAddress.developer }
        let parts = text.split(separator: ":", maxSplits: 1).map { String($0) }
        if parts.count == 2, parts[0] == "user" { return .user(id: parts[1]) }
        if parts.count == 2, parts[0] == "thing" { return .thing(id: parts[1]) }
        throw Arguments.Mistake(text: "--as takes user:ID, thing:ID or developer, not '\(escaped(text))'")
    }

    private func send(_ console: Console) async -> ExitCode {
        guard let bytes = read(console) else { return .failed }
        let message: OutgoingMessage
        do throws(MessageBodyError) { message = try OutgoingMessage(body: bytes) } catch {
            complain(at: SourcePosition(error.offset, in: bytes), error, console)
            return .failed
        }
        let app = address.app == Self.unknownApp ? nil : address.app
        return await CloudConnection.run("send", account: account, console, names: app) { client in
            var address = address
            address.app = client.app.id
            let report = SendReport(message, address)
            tell(report, console)
            guard !report.hasProblem else { return .failed }
            let id = try await client.send(message, to: address.topic, as: address.sender)
            switch format {
            case .text: console.print("sent \(escaped(id.text))")
            case .json: console.print(SendReport.jsonLine(id))
            }
            return .fine
        }
    }

    private func show(_ console: Console) -> ExitCode {
        guard let bytes = read(console) else { return .failed }
        do throws(MessageBodyError) {
            let report = SendReport(try OutgoingMessage(body: bytes), address)
            switch format {
            case .json: for line in report.jsonLines { console.print(line) }
            case .text: for line in report.textLines { console.print(line) }
            }
            tell(report, console)
            return report.hasProblem ? .failed : .fine
        } catch {
            complain(at: SourcePosition(error.offset, in: bytes), error, console)
            if format == .json { console.print(SendReport.jsonLine(error)) }
            return .failed
        }
    }

    /// Reports the problems, by network; the JSON already contains warnings.
    private func tell(_ report: SendReport, _ console: Console) {
        let file = escaped(message)
        for finding in report.findings where !finding.isWarning || format == .text {
            let word = console.errorInk(finding.isWarning ? "warning" : "problem", finding.isWarning ? .warning : .bad)
            let network = finding.network.map { "\($0.rawValue): " } ?? ""
            let place = finding.path.isEmpty ? network : "\(network)\(escaped(finding.path)): "
            console.error("\(file): \(word): \(place)\(finding.code): \(escaped(finding.message))")
        }
    }

    private func complain(at place: SourcePosition, _ error: MessageBodyError, _ console: Console) {
        let path = error.path.isEmpty ? "" : "\(escaped(error.path)): "
        console.error(console.errorInk.located("\(escaped(message)):\(place): \(path)\(escaped(error.detail))"))
    }

    private func read(_ console: Console) -> [UInt8]? {
        if message == "-", isatty(STDIN_FILENO) == 1 {
            console.error("kiipush send: reading a message from the terminal; end it with Ctrl-D")
        }
        do throws(ReadError) {
            return try ByteReader.named(message).readAll(limit: OutgoingMessage.mostBodyBytes)
        } catch {
            console.complain(
                error, of: message, contents: "kiipush send: a message itself goes to standard input, as --message -")
            return nil
        }
    }

    static let description = Command(
        name: "send", summary: "sends a push to a topic, or shows the payloads that devices would receive",
        usage: [
            "--topic URI --as SENDER --message FILE --account FILE [OPTION…]",
            "--topic URI --as SENDER --message FILE --dry-run [OPTION…]",
        ],
        about: [
            "Reads the body of a request to Kii's REST API and checks it; a push with a problem is not sent. For "
                + "each enabled network, a dry run shows the payload with everything Kii adds, its size and the "
                + "network's limit, and the bytes that each suppression saves."
        ],
        notes: [
            "A problem is something Kii would refuse: a nested value, a key reserved by FCM, a payload that is too "
                + "large, no network, a sender without permission. A warning is something receivers may misread, "
                + "such as a push without its topic, which looks like a Direct Push.",
            "kiipush inspect shows how a receiver classifies a payload.",
        ],
        exits: [
            (.fine, "the push was sent, or could be sent"),
            (.failed, "there is a problem, the message cannot be read, or the call failed"),
        ],
        examples: [
            #"kiipush send --dry-run --topic kiicloud://users/U/topics/t \"#,
            "    --as user:U --message message.json",
            #"kiipush send --account account.json --topic kiicloud://users/U/topics/t \"#,
            "    --as user:U --message message.json",
        ])
}
