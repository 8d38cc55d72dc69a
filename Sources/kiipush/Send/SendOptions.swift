import KiiCloud
import KiiPush
import KiiPushAgent
import KiiPushSystem

struct SendOptions {
    /// The topic, the sender, and the time.
    private(set) var address = PushAddress(
        app: Self.unknownApp, topic: KiiTopic(scope: .app, name: ""), sender: PushAddress.developer, sentAt: 0)
    /// The file with the request's body.
    private(set) var message = ""
    private(set) var format = ReportFormat.text
    /// The file with the account; empty for a dry run without one.
    private(set) var account = ""
    /// Whether to send nothing.
    private(set) var isDryRun = false

    private var topic: String?
    private var sender: String?
    private var app: String?
    private var sentAt: Int64?

    /// The placeholder for an app id that was not named: as long as all app ids in Kii's documents.
    static let unknownApp = "<app id>"

    static let table = OptionTable<SendOptions>([
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

    /// Refuses operands, and makes the address from the options.
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
            guard account != "-" || message != "-" else {
                throw Arguments.Mistake(text: "--account and --message cannot both be standard input")
            }
        }
        address.sender = try Self.sender(sender)
        try setTopic(topic)
        address.sentAt = sentAt ?? UTCDate.now.milliseconds
    }

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

    /// The address with the account's app.
    func address(in app: String) -> PushAddress {
        var address = address
        address.app = app
        return address
    }

    /// The app of the command line, if it names one.
    var namedApp: String? { address.app == Self.unknownApp ? nil : address.app }

    private static func sender(_ text: String) throws(Arguments.Mistake) -> Sender {
        if text == "developer" { return PushAddress.developer }
        let parts = text.split(separator: ":", maxSplits: 1).map { String($0) }
        if parts.count == 2, parts[0] == "user" { return .user(id: parts[1]) }
        if parts.count == 2, parts[0] == "thing" { return .thing(id: parts[1]) }
        throw Arguments.Mistake(text: "--as takes user:ID, thing:ID or developer, not '\(escaped(text))'")
    }
}
