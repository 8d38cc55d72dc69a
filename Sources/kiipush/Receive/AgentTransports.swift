import KiiPush
import KiiPushDelivery
import KiiPushLinux
import KiiPushSystem
import KiiPushMQTT

/// The transports of an agent's payloads, with their wrappers.
struct AgentTransports: Sendable {
    /// All transports of the service, in the order in which they start.
    let all: [any PushTransport]
    /// Whether an unacknowledged payload is redelivered.
    let bringsAgain: Bool
    /// Records that a session exists; does nothing if there can be none.
    let noteSession: @Sendable () throws -> Void

    /// Makes them; they accept nothing before the service runs.
    ///
    /// - Throws: ``AgentError``, ``StateError`` or an error of the MQTT settings.
    init(
        _ options: ReceiveOptions, _ state: AgentState?, _ log: AgentLog, _ counts: ServiceCounts
    ) throws {
        let transport = try Self.transport(options, state, log.shortages)
        noteSession = Self.session(of: transport, state)
        bringsAgain = !transport.abilities.isDisjoint(with: [.refuses, .redelivers])
        let ready = ReadyTransport(log: log)
        let source: any PushTransport =
            if let path = options.capture {
                CapturingTransport(transport: transport, file: CaptureFile(path: path), log: log)
            } else { transport }
        // A descriptor counts as connected from the start; all others report their connection.
        let connects = if case .standardInput = options.source { false } else { true }
        let healed: [any PushTransport] = state?.healing?.isNew == true ? [HealedState()] : []
        all = healed + [ready, WatchedTransport(source, counts, connects: connects)]
    }

    private static func transport(
        _ options: ReceiveOptions, _ state: AgentState?, _ shortages: Shortages?
    ) throws -> any PushTransport {
        switch options.source {
        case .standardInput: return LinesTransport(transport: options.transport)
        case .socket(let path):
            return SocketTransport(path: path, transport: options.transport, shortages: shortages)
        case .mqtt(var settings):
            #if MQTT
            let files = state.map { SessionFiles(directory: $0.directory) }
            if settings.clientID.isEmpty, let files { settings.clientID = try files.clientID() }
            settings.hadSession = try !settings.cleanSession && files?.hadSession(settings) ?? false
            return try MQTTTransport(settings)
            #else
            throw AgentError(
                "this kiipush has no MQTT client; build it with the trait MQTT (Debian's libmosquitto-dev)")
            #endif
        }
    }

    /// Records that a broker has a session for this agent, so that the next start knows if it was lost.
    private static func session(of transport: any PushTransport, _ state: AgentState?) -> @Sendable () throws -> Void {
        #if MQTT
        guard let state, let settings = (transport as? MQTTTransport)?.settings, !settings.cleanSession else {
            return {}
        }
        let files = SessionFiles(directory: state.directory)
        return { try files.noteSession(settings) }
        #else
        return {}
        #endif
    }
}

/// Reports that payloads are accepted, which is when the service runs its transports.
private struct ReadyTransport: PushTransport {
    let name = "ready"
    let abilities: TransportAbilities = []
    let log: AgentLog

    func run(_ intake: PushIntake) async {
        log.note("ready\(intake.isDurable ? "" : "; accepted messages are kept in memory only")")
    }
}

/// Reports that messages may have been lost with the healed state.
private struct HealedState: PushTransport {
    let name = "state"
    let abilities: TransportAbilities = []

    func run(_ intake: PushIntake) async {
        intake.report(.possibleGap("the state was damaged or missing; the start of this log says what was saved"))
    }
}
