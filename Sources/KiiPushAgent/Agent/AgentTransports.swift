public import KiiPush
public import KiiPushDelivery
import KiiPushSystem
public import KiiPushMQTT

struct AgentTransports: Sendable {
    let all: [any PushTransport]
    let sockets: [SocketTransport]
    let answers: [any AnswerSender]
    /// Whether every unacknowledged payload is redelivered.
    let bringsAgain: Bool
    /// The transport of a broker whose session this agent keeps, and where it records that.
    private let broker: (any PushTransport)?
    private let files: SessionFiles?

    /// Makes them, which accept nothing yet; throws ``AgentError``, or an error of the MQTT settings.
    init(
        _ sources: [any PushTransport], _ settings: AgentSettings, _ state: AgentState?, _ log: AgentLog,
        _ counts: ServiceCounts
    ) throws {
        guard !sources.isEmpty else { throw AgentError("no source of payloads is given; name one, such as .stdin") }
        // The state directory has one client id, and records one session.
        guard sources.count(where: { $0 is MQTTSource }) < 2 else {
            throw AgentError("one source can be .mqtt; make a further one with MQTTTransport, and a client id for it")
        }
        let files = state.map { SessionFiles(directory: $0.directory) }
        self.files = files
        let transports = try sources.map { source -> any PushTransport in
            switch source {
            case let source as MQTTSource: try source.transport(files)
            case let socket as SocketTransport: socket.noting(log.shortages)
            default: source
            }
        }
        let names = transports.map(\.name)
        for name in Set(names).sorted() where names.count(where: { $0 == name }) > 1 {
            log.trouble("several sources are named \(escaped(name)): status, metrics and gaps cannot tell them apart")
        }
        broker = zip(sources, transports).first { $0.0 is MQTTSource }?.1
        sockets = transports.compactMap { $0 as? SocketTransport }
        answers = transports.compactMap { $0 as? any AnswerSender }
        bringsAgain = transports.allSatisfy { !$0.abilities.isDisjoint(with: [.refuses, .redelivers]) }
        let (file, failure) = (settings.capture.map { CaptureFile(path: $0) }, Current<String>())
        let watched = transports.map { transport in
            // A descriptor counts as connected from the start; all others report their connection.
            WatchedTransport(transport, counts, connects: !(transport is LinesTransport)) { payload in
                guard let file else { return }
                log.trouble(onceIn: failure) { () throws(WriteError) in try file.add(payload) }
            }
        }
        all = [StateTransport(log: log, hasState: state != nil, isHealed: state?.healing?.isNew == true)] + watched
    }

    /// Records that a broker has a session for this agent, so that the next start knows if it was lost, if this
    /// transport is connected to one that lasts.
    func noteSession(_ transport: String) throws {
        #if MQTT
        guard let files, let broker = broker as? MQTTTransport, broker.name == transport else { return }
        if !broker.settings.cleanSession { try files.noteSession(broker.settings) }
        #endif
    }
}

/// A broker as a source of an agent's payloads; the agent gives it a client id and keeps its session.
public struct MQTTSource: PushTransport {
    /// Its name in logs and metrics: `mqtt`.
    public let name = "mqtt"
    /// It acknowledges, and unacknowledged messages are redelivered, if quality of service and session allow that.
    public let abilities: TransportAbilities = [.acknowledges, .redelivers]

    private let settings: @Sendable () throws -> MQTTSettings

    /// Names a broker; `settings` is called when the agent runs.
    init(_ settings: @escaping @Sendable () throws -> MQTTSettings) { self.settings = settings }

    /// Connects to the broker without an agent: the settings must name the client.
    public func run(_ intake: PushIntake) async throws { try await transport(nil).run(intake) }

    /// The transport, whose client id and session the state directory has.
    func transport(_ files: SessionFiles?) throws -> any PushTransport {
        #if MQTT
        var settings = try settings()
        if settings.clientID.isEmpty, let files { settings.clientID = try files.clientID() }
        if !settings.cleanSession, let former = try files?.filtersOfSession(settings) {
            settings.hadSession = true
            settings.formerFilters = former.filter { filter in
                !settings.subscriptions.contains { $0.filter.isExactly(filter) }
            }
        }
        settings.retainedFile = settings.retainedFile ?? files?.retainedFile
        return try MQTTTransport(settings)
        #else
        throw AgentError("this program has no MQTT client; build it with the trait MQTT (Debian's libmosquitto-dev)")
        #endif
    }
}

extension PushTransport where Self == LinesTransport {
    /// Standard input, a payload a line; see ``LinesTransport``.
    public static var stdin: LinesTransport { LinesTransport() }
}

extension PushTransport where Self == SocketTransport {
    /// A Unix socket, a payload a line, and an answer to each; see ``SocketTransport``.
    ///
    /// - Parameters:
    ///   - path: the socket's path, at most 107 bytes.
    ///   - transport: the network of the payloads, if known.
    /// - Returns: the source.
    public static func unix(_ path: String, transport: Transport? = nil) -> SocketTransport {
        SocketTransport(path: path, transport: transport)
    }
}

extension PushTransport where Self == MQTTSource {
    /// A broker, `mqtt[s]://[user@]host[:port]/topic`, with MQTT 3.1.1, quality of service 1 and a persistent session.
    ///
    /// The topic may be a filter with `+` and `#`; for several, pass settings. The client id is generated and kept in
    /// the state directory, which the agent must have. A wrong address ends the run.
    public static func mqtt(_ address: String) -> MQTTSource { MQTTSource { try MQTTSettings(address: address) } }

    /// A broker with settings; without a client id in them, one is generated and kept in the state directory.
    public static func mqtt(_ settings: MQTTSettings) -> MQTTSource { MQTTSource { settings } }
}

/// Reports that payloads are accepted, which is when the service runs its transports, and that messages may have been
/// lost with a healed state.
struct StateTransport: PushTransport {
    let name = "state"
    let abilities: TransportAbilities = []
    let log: AgentLog
    let hasState: Bool
    let isHealed: Bool
    static let loss = "the state was damaged or missing; the start of this log says what was saved"

    func run(_ intake: PushIntake) async {
        if isHealed { intake.report(.possibleGap(Self.loss)) }
        let lack = intake.isDurable ? "" : "; accepted messages are kept in memory only"
        log.note("ready\(lack)\(hasState ? "" : ", and no command reaches this agent, as it has no state directory")")
    }
}
