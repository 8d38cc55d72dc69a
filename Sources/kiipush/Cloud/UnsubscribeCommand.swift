import KiiCloud
import KiiPush
import KiiPushAgent
import KiiPushSystem

struct UnsubscribeCommand: CommandWithOptions {
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

    func run(_ console: Console) async -> ExitCode {
        await CloudConnection.run("unsubscribe", account: account, console, names: uri.appID) { client in
            var run = UnsubscribeRun(source, try names(), client, format, console)
            await run.run(list ?? "subscribers")
            return run.tell()
        }
    }

    mutating func check(_ operands: [String]) throws(Arguments.Mistake) {
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
        try Arguments.checkStandardInput([account, list])
    }

    /// The size limit of a list: a million subscribers.
    private static let listLimit = 64 << 20

    /// All subscribers, read first so that a list with an error has no effect.
    private func names() throws -> [String] {
        guard let list else { return one.map { [$0] } ?? [] }
        let reader = try ByteReader.named(list)
        let bytes = try reader.readAll(limit: Self.listLimit)
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw AgentError("\(escaped(list)): expected UTF-8; nothing was done")
        }
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

    static let description = Command(
        name: "unsubscribe", summary: "unsubscribes one subscriber, or a list of them, from a bucket or a topic",
        usage: ["URI (--of SUBSCRIBER | --list FILE) --account FILE [OPTION…]"],
        about: [
            "An emergency brake: it stops a push loop from outside when the devices cannot. A user's subscription "
                + "delivers pushes to all devices of that user."
        ],
        notes: [
            "It is safe to run again: subscribers without a subscription are skipped. If Kii reports too many "
                + "requests or an invalid token, it stops and prints where to continue."
        ],
        exits: [
            (.fine, "none of the subscribers is subscribed any more"),
            (.failed, "some subscribers may still be subscribed"),
        ],
        examples: [
            #"kiipush unsubscribe kiicloud://buckets/settings \"#, "    --list devices.txt --account account.json",
        ])
}

/// Ends subscriptions, several at once, and counts the results.
struct UnsubscribeRun {
    private enum Outcome {
        case unsubscribed
        case none
        case failed(String, isFinal: Bool)

        var word: String {
            switch self {
            case .unsubscribed: "unsubscribed"
            case .none: "none"
            case .failed: "failed"
            }
        }
    }

    private static let mostAtOnce = 8

    private let source: PushSource
    private let names: [String]
    private let client: KiiClient
    private let format: ReportFormat
    private let console: Console

    private var ended = 0
    private var missing = 0
    private var failed = 0
    /// The first subscriber that was not tried, because further calls would fail too.
    private var stoppedAt: Int?

    init(_ source: PushSource, _ names: [String], _ client: KiiClient, _ format: ReportFormat, _ console: Console) {
        (self.source, self.names, self.client, self.format, self.console) = (source, names, client, format, console)
    }

    /// Ends the subscriptions; the name is the subject of the progress display.
    mutating func run(_ name: String) async {
        var progress = Progress(name, names.count, console, of: "subscribers")
        var next = 0
        await withTaskGroup(of: (Int, Outcome).self) { group in
            while next < names.count || !group.isEmpty {
                if next < names.count, stoppedAt == nil, next < ended + missing + failed + Self.mostAtOnce {
                    let number = next
                    group.addTask { [client, source, names] in
                        (number, await Self.unsubscribe(names[number], from: source, client))
                    }
                    next += 1
                    continue
                }
                guard let (number, outcome) = await group.next() else { break }
                take(outcome, of: number, &progress)
                if case .failed(_, isFinal: true) = outcome, stoppedAt == nil { stoppedAt = next }
            }
        }
        progress.clear()
    }

    private static func unsubscribe(_ name: String, from source: PushSource, _ client: KiiClient) async -> Outcome {
        guard let subscriber = CloudOption.subscriber(name) else { return .failed("no subscriber", isFinal: false) }
        do {
            return try await client.perform(.unsubscribe(subscriber, from: source)) ? .unsubscribed : .none
        } catch let error as CloudError {
            let isFinal = error.code == .tooManyRequests || error.status == 401 || error.status == 403
            return .failed("\(error)", isFinal: isFinal)
        } catch { return .failed("\(error)", isFinal: false) }
    }

    private mutating func take(_ outcome: Outcome, of number: Int, _ progress: inout Progress) {
        progress.step()
        switch outcome {
        case .unsubscribed: ended += 1
        case .none: missing += 1
        case .failed(let why, _):
            failed += 1
            progress.clear()
            console.error("kiipush unsubscribe: \(escaped(names[number])): \(escaped(why))")
        }
        if format == .json { console.print(Self.line(names[number], outcome.word)) }
    }

    private static func line(_ name: String, _ result: String) -> String {
        JSONWriter.object { writer in
            writer.member("subscriber", name)
            writer.member("result", result)
        }
    }

    func tell() -> ExitCode {
        let left = stoppedAt.map { names[$0...] } ?? []
        for name in left where format == .json { console.print(Self.line(name, "notTried")) }
        if format == .text {
            var parts = ["unsubscribed \(ended) of \(names.count)"]
            if missing > 0 { parts.append("\(missing) had no subscription") }
            if failed > 0 { parts.append("\(failed) failed") }
            if !left.isEmpty { parts.append("\(left.count) not tried") }
            console.print(parts.joined(separator: ", "))
        }
        if let first = left.first {
            console.error(
                "kiipush unsubscribe: stopped before \(escaped(first)); run it again later, with the same list")
        }
        return failed == 0 && left.isEmpty ? .fine : .failed
    }
}
