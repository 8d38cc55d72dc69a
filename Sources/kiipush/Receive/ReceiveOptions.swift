import KiiPush
import KiiPushDelivery
import KiiPushAgent
import KiiPushSystem
import KiiPushMQTT

struct ReceiveOptions: ReadsRules {
    enum Source {
        case standardInput
        case socket(String)
        case mqtt(MQTTSettings)
    }

    var rules = ""
    var params = ParameterOptions()
    /// The account file for cloud calls of rules; nil for none.
    var account: String?
    var source = Source.standardInput
    /// The state directory; nil keeps everything in memory.
    var state: String?
    var app: String?
    /// The network of payloads from lines; MQTT needs none.
    var transport: Transport?
    /// What the agent does beside calling handlers.
    var settings = AgentSettings()
    var named = Named()
}

extension ReceiveOptions {
    struct Named: Sendable {
        var sources: [String] = []
        var socket: String?
        var address: String?
        var endpoint: String?
        /// The changes of a broker's settings, by the options' names.
        var changes: [String: [@Sendable (inout MQTTSettings) -> Void]] = [:]

        /// The options that only an MQTT source takes; an error names the first of them.
        static let ofMQTT = ReceiveOptions.ofMQTT.map(\.text.name)
    }

    /// Parses the arguments; nil if help is requested.
    ///
    /// - Throws: `Arguments.Mistake` if they are wrong, ``EndpointProblems`` if the named endpoint file is wrong.
    static func read(_ arguments: [String]) throws -> ReceiveOptions? {
        var options = ReceiveOptions()
        guard let operands = try table.read(arguments, into: &options) else { return nil }
        if let operand = operands.first {
            throw Arguments.Mistake(text: "unexpected argument '\(escaped(operand))'; pass the rules with --rules")
        }
        if options.rules.isEmpty { throw Arguments.Mistake(text: "--rules FILE is missing") }
        if options.rules == "-" {
            throw Arguments.Mistake(text: "--rules needs a file to watch for changes, not standard input")
        }
        if options.account == "-" {
            throw Arguments.Mistake(
                text: "--account needs a file to read again when Kii refuses the token, not standard input")
        }
        if options.account != nil, !CloudConnection.isBuilt { throw Arguments.Mistake(text: CloudConnection.missing) }
        try OutputKind(name: "metrics file", start: MetricsFile.start).check("--metrics", options.settings.metrics)
        try OutputKind(name: "capture", start: CaptureFile.start).check("--capture", options.settings.capture)
        options.source = try source(options.named, options.transport)
        options.state = try options.directory()
        return options
    }

    // MARK: Sources

    var transportOfSource: any PushTransport {
        switch source {
        case .standardInput: LinesTransport(transport: transport)
        case .socket(let path): SocketTransport(path: path, transport: transport)
        case .mqtt(let settings): MQTTSource.mqtt(settings)
        }
    }

    private static func source(_ named: Named, _ transport: Transport?) throws -> Source {
        guard let kind = named.sources.first, named.sources.count == 1 else {
            let what = named.sources.isEmpty ? "say where payloads come from" : "payloads come from one place only"
            throw Arguments.Mistake(text: "\(what): --stdin, --unix PATH, --mqtt ADDRESS or --endpoint FILE")
        }
        let isMQTT = kind == "--mqtt" || kind == "--endpoint"
        if !isMQTT, let option = Named.ofMQTT.first(where: { named.changes[$0] != nil }) {
            throw Arguments.Mistake(text: "\(option) needs --mqtt or --endpoint")
        }
        if isMQTT, transport != nil { throw Arguments.Mistake(text: "--transport needs --stdin or --unix") }
        if let path = named.socket { return .socket(path) }
        return isMQTT ? .mqtt(try named.settings()) : .standardInput
    }

    /// The state directory; MQTT always needs one, since its session requires a stable client id.
    private func directory() throws(Arguments.Mistake) -> String? {
        if let state { return state }
        guard case .mqtt = source else { return StateDirectory.ofService }
        guard let standard = StateDirectory.standard else {
            throw Arguments.Mistake(text: "no home directory is known; name the state directory with --state DIR")
        }
        return standard
    }
}

extension ReceiveOptions.Named {
    /// The settings of the named broker, checked as far as they are known here.
    fileprivate func settings() throws -> MQTTSettings {
        let named = try endpoint.map { try Self.settings(ofEndpoint: $0) } ?? Self.settings(of: address ?? "")
        var settings = named
        for change in Self.ofMQTT.flatMap({ changes[$0] ?? [] }) { change(&settings) }
        let wrong = Self.problems(of: settings)
        if wrong.isEmpty { return settings }
        let inFile = endpoint == nil ? [] : Self.problems(of: named)
        let typed = wrong.filter { !inFile.contains($0) }
        guard typed.isEmpty else { throw Arguments.Mistake(text: typed.joined(separator: "; ")) }
        throw EndpointProblems(lines: wrong.map { "\(escaped(endpoint ?? "")): \($0)" })
    }

    private static func settings(of address: String) throws -> MQTTSettings {
        do throws(MQTTSettingsError) { return try MQTTSettings(address: address, source: "--mqtt") } catch {
            throw Arguments.Mistake(text: "\(error)")
        }
    }

    private static func settings(ofEndpoint file: String) throws -> MQTTSettings {
        do throws(MQTTSettingsError) { return try MQTTSettings(endpointFile: file) } catch {
            throw EndpointProblems(lines: error.problems.map(\.description))
        }
    }

    private static func problems(of settings: MQTTSettings) -> [String] {
        var settings = settings
        // The state directory has the client id of a persistent session.
        if settings.clientID.isEmpty { settings.clientID = "of the state directory" }
        do throws(MQTTSettingsError) { try settings.check() } catch { return error.problems.map(\.what) }
        return []
    }

    /// Reads `FILTER`, or `0:FILTER` for its quality of service.
    static func subscription(
        _ option: String, _ text: String
    ) throws(Arguments.Mistake) -> MQTTSettings.Subscription {
        var (filter, quality) = (text, MQTTSettings.Quality.one)
        let start = Array(text.utf8.prefix(2))
        if start.count == 2, start[1] == UInt8(ascii: ":"), start[0].isDigit {
            let digit = Int(start[0] - UInt8(ascii: "0"))
            guard let known = MQTTSettings.Quality(rawValue: digit) else {
                throw Arguments.Mistake(
                    text: "\(option) takes FILTER, 0:FILTER or 1:FILTER, not '\(escaped(text))'; for a topic that "
                        + "begins with '\(digit):', write '1:' before it")
            }
            (filter, quality) = (String(decoding: text.utf8.dropFirst(2), as: UTF8.self), known)
        }
        do throws(MQTTTopicFilter.Problem) { _ = try MQTTTopicFilter(filter) } catch {
            throw Arguments.Mistake(text: "\(option) '\(escaped(filter))': \(error)")
        }
        return .init(filter, quality: quality)
    }

    /// Reads `TOPIC=TEXT`; the settings' check refuses a wrong topic.
    static let announcement = Arguments.value("TOPIC=TEXT, such as status=on,") { text in
        text.utf8.firstIndex(of: UInt8(ascii: "=")).map { sign in
            MQTTSettings.Announcement(topic: String(text[..<sign]), payload: text.utf8[text.utf8.index(after: sign)...])
        }
    }
}

/// The problems of an endpoint file, one a line, each with its position.
struct EndpointProblems: Error {
    let lines: [String]
}
