import KiiPush
import KiiPushLinux
import KiiPushMQTT

/// What `kiipush receive` was asked for.
struct ReceiveOptions {
    /// Where payloads come from.
    enum Source {
        case standardInput
        case socket(String)
        case mqtt(MQTTSettings)
    }

    var rules = ""
    var source = Source.standardInput
    /// The state directory; nil keeps everything in memory.
    var state: String?
    var app: String?
    /// The network that lines came over; MQTT needs none.
    var transport: Transport?
    var metrics: String?
    var capture: String?
    var service = ServiceSettings.standard
    var isQuiet = false
    /// For how long the agent, or one of its routes, may be silent before that is told.
    var silentAfter: [SilenceWatch.Limit] = []
}

extension ReceiveOptions {
    /// The sources that were named, and what belongs to one of them only.
    fileprivate struct Named {
        var sources: [String] = []
        var socket: String?
        var address: String?
        var endpoint: String?
        var clientID: String?
        var caFile: String?
        var certificateFile: String?
        var keyFile: String?
        var passwordFile: String?
        var version: MQTTSettings.Version?
        var isClean = false

        /// The options that only an MQTT source takes.
        var ofMQTT: [String] {
            [
                ("--client-id", clientID), ("--ca-file", caFile), ("--cert-file", certificateFile),
                ("--key-file", keyFile), ("--password-file", passwordFile),
            ].filter { $0.1 != nil }.map(\.0) + (version == nil ? [] : ["--mqtt-version"])
                + (isClean ? ["--clean-session"] : [])
        }
    }

    /// Reads the arguments; nil when help is wanted.
    ///
    /// - Throws: `Arguments.Mistake` when they are wrong, ``EndpointProblems`` when the file is that they name.
    static func read(_ arguments: [String]) throws -> ReceiveOptions? {
        var arguments = Arguments(arguments)
        var options = ReceiveOptions()
        var named = Named()
        var rules: String?
        while let option = try arguments.nextOption() {
            switch option {
            case "--rules": rules = try arguments.value(of: option)
            case "--state": options.state = try arguments.value(of: option)
            case "--app": options.app = try arguments.value(of: option)
            case "--transport": options.transport = Transport(try arguments.value(of: option))
            case "--metrics": options.metrics = try arguments.value(of: option)
            case "--capture": options.capture = try arguments.value(of: option)
            case "--concurrency": options.service.concurrency = try number(of: option, &arguments, 1...1000)
            case "--drain": options.service.drain = try duration(of: option, &arguments)
            case "--quiet": options.isQuiet = true
            case "--silent-after": options.silentAfter.append(try silence(arguments.value(of: option)))
            case "--help", "-h": return nil
            default:
                guard try named.take(option, &arguments) else {
                    throw Arguments.Mistake(unknown: option, known: known)
                }
            }
        }
        if let operand = arguments.operands.first {
            throw Arguments.Mistake(text: "'\(escaped(operand))' is no option; the rules go behind --rules")
        }
        guard let rules else { throw Arguments.Mistake(text: "--rules FILE is missing") }
        options.rules = rules
        options.source = try source(named, options.transport)
        options.state = try options.directory()
        return options
    }

    static let known = [
        "--rules", "--state", "--app", "--transport", "--metrics", "--capture", "--concurrency", "--drain", "--quiet",
        "--silent-after",
        "--stdin", "--unix", "--mqtt", "--endpoint", "--client-id", "--ca-file", "--cert-file", "--key-file",
        "--password-file", "--mqtt-version", "--clean-session",
    ]

    private static func number(
        of option: String, _ arguments: inout Arguments, _ range: ClosedRange<Int>
    ) throws(Arguments.Mistake) -> Int {
        let text = try arguments.value(of: option)
        guard let number = Int(text), range.contains(number) else {
            throw Arguments.Mistake(
                text: "\(option) takes a number from \(range.lowerBound) to \(range.upperBound), not '\(escaped(text))'"
            )
        }
        return number
    }

    private static func duration(of option: String, _ arguments: inout Arguments) throws(Arguments.Mistake) -> Duration
    {
        let text = try arguments.value(of: option)
        guard let duration = Duration(rule: text) else {
            throw Arguments.Mistake(
                text: "\(option) takes a number and ms, s, m, h or d, such as 10s; not '\(escaped(text))'")
        }
        return duration
    }

    /// Reads `10m`, for the agent, or `news=1h`, for a route; a route's own id may hold the sign.
    private static func silence(_ text: String) throws(Arguments.Mistake) -> SilenceWatch.Limit {
        let parts = text.split(separator: "=", omittingEmptySubsequences: false)
        let route = parts.dropLast().joined(separator: "=")
        guard let length = Duration(rule: String(parts.last ?? "")), length >= .seconds(1),
            parts.count == 1 || !route.isEmpty
        else {
            throw Arguments.Mistake(
                text: "--silent-after takes a time of 1s or more, such as 10m, or one of a route, such as news=1h; "
                    + "not '\(escaped(text))'")
        }
        return SilenceWatch.Limit(route: route, length: length)
    }

    // MARK: Sources

    private static func source(_ named: Named, _ transport: Transport?) throws -> Source {
        guard let kind = named.sources.first, named.sources.count == 1 else {
            let what = named.sources.isEmpty ? "say where payloads come from" : "payloads come from one place only"
            throw Arguments.Mistake(text: "\(what): --stdin, --unix PATH, --mqtt ADDRESS or --endpoint FILE")
        }
        let isMQTT = kind == "--mqtt" || kind == "--endpoint"
        if !isMQTT, let option = named.ofMQTT.first {
            throw Arguments.Mistake(text: "\(option) goes with --mqtt or --endpoint only")
        }
        if isMQTT, transport != nil { throw Arguments.Mistake(text: "--transport goes with --stdin or --unix only") }
        if let path = named.socket { return .socket(path) }
        return isMQTT ? .mqtt(try named.settings()) : .standardInput
    }

    /// The state directory; MQTT has one in any case, since its session is known by an id that has to stay the same.
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
    /// Takes an option that says where payloads come from, or how; false when it is none.
    fileprivate mutating func take(_ option: String, _ arguments: inout Arguments) throws(Arguments.Mistake) -> Bool {
        switch option {
        case "--stdin": sources.append(option)
        case "--unix": socket = try source(option, &arguments)
        case "--mqtt": address = try source(option, &arguments)
        case "--endpoint": endpoint = try source(option, &arguments)
        case "--client-id": clientID = try arguments.value(of: option)
        case "--ca-file": caFile = try arguments.value(of: option)
        case "--cert-file": certificateFile = try arguments.value(of: option)
        case "--key-file": keyFile = try arguments.value(of: option)
        case "--password-file": passwordFile = try arguments.value(of: option)
        case "--mqtt-version":
            version = try arguments.value(of: option, among: MQTTSettings.Version.allCases.map { ($0.rawValue, $0) })
        case "--clean-session": isClean = true
        default: return false
        }
        return true
    }

    private mutating func source(_ option: String, _ arguments: inout Arguments) throws(Arguments.Mistake) -> String {
        sources.append(option)
        return try arguments.value(of: option)
    }

    /// The settings for the broker that was named, checked as far as they are known here.
    fileprivate func settings() throws -> MQTTSettings {
        let named = try endpoint.map { try Self.settings(ofEndpoint: $0) } ?? Self.settings(of: address ?? "")
        var settings = named
        apply(to: &settings)
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
        // The state directory has one for a session that lasts.
        if settings.clientID.isEmpty { settings.clientID = "of the state directory" }
        do throws(MQTTSettingsError) { try settings.check() } catch { return error.problems.map(\.what) }
        return []
    }

    private func apply(to settings: inout MQTTSettings) {
        if let clientID { settings.clientID = clientID }
        if let caFile { settings.caFile = caFile }
        if let certificateFile { settings.certificateFile = certificateFile }
        if let keyFile { settings.keyFile = keyFile }
        if let passwordFile { settings.password = .file(passwordFile) }
        if let version { settings.version = version }
        if isClean { settings.cleanSession = true }
    }
}

/// What is wrong with the file of an endpoint, one thing a line, each with its place.
struct EndpointProblems: Error {
    let lines: [String]
}
