public import KiiPush
public import KiiPushDelivery
public import KiiPushRules
import KiiPushSystem

/// What a ``PushAgent`` does beside calling handlers: all that the options of `kiipush receive` say.
public struct AgentSettings: Sendable {
    /// The bounds of the service, such as how many handlers run at once, and how long they may run after SIGTERM.
    public var service = ServiceSettings.standard
    /// How messages are tried whose route has no settings of its own; a rules file has its own.
    public var delivery = DeliverySettings()
    /// The formats of other systems that it reads.
    public var formats = PayloadFormats.shipped
    /// The file with metrics for Prometheus, written every five seconds; nil for none.
    public var metrics: String?
    /// The file that records incoming payloads for `kiipush rules diff` and `report`, at most 16 MiB and one more
    /// generation; nil for none.
    public var capture: String?
    /// The silences that are reported, of the agent or of routes; the first 64 count.
    public var silentAfter: [SilenceLimit] = []
    /// Whether to log warnings and errors only.
    public var isQuiet = false
    /// Performs the `write` and `send` actions of rules, such as `ClientRuleCloud`; nil refuses rules that have them.
    public var cloud: (any RuleCloud)?
    /// Deliver answers to commands that arrive over a transport that cannot, such as `ThingCommandAnswers` of KiiCloud.
    public var answers: [any AnswerSender] = []
    /// Runs the service, the transports and the handlers, for example on more threads, so that handlers may block
    /// theirs; nil is Swift's thread pool.
    public var executor: (any TaskExecutor)?
    /// What to do about rules that call Kii's cloud without ``cloud``.
    package var cloudAdvice = "give the agent's settings a cloud, such as ClientRuleCloud"
    /// What to do for a state that outlives the process.
    package var stateAdvice = "make the agent with a state, such as .service"

    /// The defaults.
    public init() {}
}

/// Where a ``PushAgent`` keeps payloads, handled messages, dead letters and kills.
public enum StatePlace: Sendable, Hashable {
    /// `$STATE_DIRECTORY`, as systemd sets it; else `$XDG_STATE_HOME/kiipush`; else `~/.local/state/kiipush`.
    case service
    /// A directory, created if it is missing.
    case directory(String)
    /// Nowhere: nothing outlives the process, and no command reaches the agent.
    case memory

    /// The directory; nil for none.
    var directory: String? {
        get throws(AgentError) {
            switch self {
            case .directory(let path):
                guard !path.isEmpty else {
                    throw AgentError("the path of the state directory is empty; name one, or use .memory")
                }
                return path
            case .memory: return nil
            case .service:
                guard let path = StateDirectory.standard else {
                    throw AgentError("no state directory is known; name one with .directory, or set HOME")
                }
                return path
            }
        }
    }
}

/// The rules of a ``PushAgent``: a file that is loaded again when it changes and passes its own tests.
public struct AgentRules: Sendable, Hashable {
    let path: String
    let params: ParameterValues

    /// Names a rules file; the handlers that it names must be registered with the agent.
    ///
    /// - Parameters:
    ///   - path: the file.
    ///   - params: the values of this device for the parameters of the file, and of each that replaces it; a new file
    ///     that lacks a value is refused.
    /// - Returns: the rules.
    public static func file(_ path: String, params: ParameterValues = [:]) -> AgentRules {
        AgentRules(path: path, params: params)
    }
}

extension AgentSettings {
    /// What checks and loads rules into a receiver, and runs their actions.
    func gate(_ receiver: PushReceiver, _ params: ParameterValues, _ log: AgentLog) -> RulesGate {
        RulesGate(
            receiver,
            actions: ProgramActions(
                app: receiver.app, cloud: cloud, shortages: log.shortages,
                noteOf: { log.tell(.information, $1, of: $0) }, logOf: { log.tell(.warning, $1, of: $0) }),
            params: params, checks: [cloudProblems])
    }

    /// Finds the rules whose cloud calls are impossible here, each with a remedy.
    private func cloudProblems(of rules: RoutingRules) -> [RulesError.Problem] {
        if cloud != nil { return [] }
        return rules.rules.filter { $0.ownTarget != nil }.prefix(RulesError.mostProblems).map { rule in
            RulesError.Problem(
                file: rules.file, position: rule.actionPosition,
                what: "the rule '\(Suggestion.shown(rule.id))' calls Kii's cloud; \(cloudAdvice)")
        }
    }

    /// The same with as many concurrent handlers as open files allow, if each may start a program.
    func fitted(startsPrograms: Bool, _ log: AgentLog) -> AgentSettings {
        var settings = self
        // As in the service.
        settings.service.concurrency = max(1, service.concurrency)
        guard startsPrograms else { return settings }
        let fitting = DescriptorLimit.makeRoom(for: service.concurrency)
        guard fitting < service.concurrency else { return settings }
        settings.service.concurrency = fitting
        log.trouble(
            "handling \(fitting) at once, not \(service.concurrency): the limit of open files is too low; raise it "
                + "with 'ulimit -n' or LimitNOFILE=")
        return settings
    }
}
