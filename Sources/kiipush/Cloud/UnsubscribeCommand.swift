import KiiCloud
import KiiPush
import KiiPushAgent
import KiiPushSystem

/// `kiipush unsubscribe`: ends the pushes of a bucket or a topic, for one device or all of a list.
struct UnsubscribeCommand {
    private var format = ReportFormat.text
    private var account = ""
    private var one: String?
    private var list: String?
    private var uri = KiiURI(owner: .app)
    private var source = PushSource.topic(KiiTopic(scope: .app, name: ""))

    static let table = OptionTable<UnsubscribeCommand>([
        .account { $0.account = $1 },
        .value("--of", "SUBSCRIBER", "the subscriber to unsubscribe: user:ID or thing:ID") { $0.one = $1 },
        .value(
            "--list", "FILE",
            "a file of subscribers to unsubscribe, one user:ID or thing:ID per line; empty lines and lines that begin "
                + "with # are skipped", completes: .file
        ) { $0.list = $1 },
        .format("text for people (the default), or json: one object a line for each subscriber") { $0.format = $1 },
    ])

    static func run(_ arguments: [String], _ console: Console) async -> ExitCode {
        let reading = Self.command.read(arguments, by: table, into: UnsubscribeCommand(), console) {
            options, operands throws(Arguments.Mistake) in try options.check(operands)
        }
        guard case .options(let options) = reading else { return reading.code }
        return await CloudConnection.run("unsubscribe", account: options.account, console, names: options.uri.appID) {
            client in
            let names = try options.names()
            var run = UnsubscribeRun(options.source, names, client, options.format, console)
            await run.run(options.list ?? "subscribers")
            return run.tell()
        }
    }

    private mutating func check(_ operands: [String]) throws(Arguments.Mistake) {
        let what = "the URI of a bucket or a topic, such as kiicloud://buckets/B"
        uri = try CloudOption.uri(operands, what)
        switch uri.resource {
        case .bucket: uri.bucket.map { source = .bucket($0) }
        case .topic: uri.topic.map { source = .topic($0) }
        case .none, .object: throw Arguments.Mistake(text: "name \(what)")
        }
        try CloudOption.check(account: account)
        guard (one == nil) != (list == nil) else {
            throw Arguments.Mistake(text: "say whose pushes end, by --of or by --list")
        }
        if let one, CloudOption.subscriber(one) == nil {
            throw Arguments.Mistake(text: "--of takes user:ID or thing:ID, not '\(escaped(one))'")
        }
        if list == "-", account == "-" {
            throw Arguments.Mistake(text: "--account and --list cannot both be standard input")
        }
    }

    /// The size limit of a list: a million subscribers.
    private static let listLimit = 64 << 20

    /// All subscribers, read first so that a list with an error has no effect.
    private func names() throws -> [String] {
        guard let list else { return one.map { [$0] } ?? [] }
        let reader = list == "-" ? ByteReader.standardInput() : try ByteReader(path: list)
        let text = String(decoding: try reader.readAll(limit: Self.listLimit), as: UTF8.self)
        var names: [String] = []
        for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            var line = line.drop { $0 == " " || $0 == "\t" }
            while let last = line.last, last.isWhitespace { line.removeLast() }
            if line.isEmpty || line.hasPrefix("#") { continue }
            guard CloudOption.subscriber(String(line)) != nil else {
                throw AgentError("\(escaped(list)):\(index + 1): expected user:ID or thing:ID; nothing was done")
            }
            names.append(String(line))
        }
        guard !names.isEmpty else { throw AgentError("\(escaped(list)): there is no subscriber in it") }
        return names
    }

    static let command = Command(
        name: "unsubscribe", summary: "unsubscribes one subscriber, or a list of them, from a bucket or a topic",
        usage: ["URI (--of SUBSCRIBER | --list FILE) --account FILE [OPTION…]"],
        about: [
            .text(
                "An emergency brake: it stops a push loop from outside when the devices cannot. A user's subscription "
                    + "delivers pushes to all devices of that user.")
        ],
        options: table.texts,
        notes: [
            .text(
                "It is safe to run again: subscribers without a subscription are skipped. If Kii reports too many "
                    + "requests or an invalid token, it stops and prints where to continue.")
        ],
        exits: [
            (.fine, "none of the subscribers is subscribed any more"),
            (.failed, "some subscribers may still be subscribed"),
        ],
        examples: [
            #"kiipush unsubscribe kiicloud://buckets/settings \"#, "    --list devices.txt --account account.json",
        ],
        action: { arguments, console in await run(arguments, console) })
}
