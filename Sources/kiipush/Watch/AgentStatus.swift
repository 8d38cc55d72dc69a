import KiiPush
import KiiPushLinux
import KiiPushSystem

/// The status of a running agent: `kiipush status` prints it and `kiipush top` shows it.
struct AgentStatus: Sendable, Equatable {
    /// A transport and its connection.
    struct Transport: Sendable, Equatable {
        var name = ""
        var state = TransportLink.State.starting
        /// For how many seconds it has been in this state.
        var forSeconds: Int64 = 0
        var detail: String?
        /// How many seconds ago the last payload arrived; nil if none did.
        var lastMessageAgo: Int64?
        var lastMessageAt: UTCDate?
        var messages: Int64 = 0
    }

    /// The messages that have not ended.
    struct Queue: Sendable, Equatable {
        /// Payloads in memory and, with a durable inbox, on disk.
        var messages: Int64 = 0
        var bytes: Int64 = 0
        var waiting: Int64 = 0
        var handling: Int64 = 0
        var retrying: Int64 = 0
        var paced: Int64 = 0
        var onDisk: Int64 = 0
        var overrunning: Int64 = 0
        var isFull = false
    }

    /// A route's counts, and its times in milliseconds; nil before its first message.
    struct Route: Sendable, Equatable {
        var id = ""
        var handled: Int64 = 0
        var failed: Int64 = 0
        var paced: Int64 = 0
        var expired: Int64 = 0
        var p50: Double?
        var p99: Double?
        var waitedP50: Double?
        var waitedP99: Double?
        /// How long its handler has run in all, in seconds.
        var handlingSeconds = 0.0
    }

    /// How many messages had this outcome.
    struct Outcome: Sendable, Equatable {
        var outcome = ""
        var reason: String?
        var messages: Int64 = 0
    }

    /// A key whose messages the loop guard lets wait.
    struct Paced: Sendable, Equatable {
        var level = ""
        var route = ""
        var subject = ""
        /// For how many seconds messages have waited.
        var since: Int64 = 0
        var waiting: Int64 = 0
        var superseded: Int64 = 0
        /// Why they wait and what lifts that, in one sentence.
        var why = ""
    }

    /// A target that the kill switch has off.
    struct Kill: Sendable, Equatable {
        var target = ""
        var until: UTCDate?
        /// False if it is a route's id that no route has, so that the kill switches nothing off.
        var isKnown = true
    }

    /// The dead letters; the count is nil if the store cannot be read.
    struct DeadLetters: Sendable, Equatable {
        var count: Int64?
        var isFull = false
    }

    /// A resource that the agent lacks temporarily.
    struct Shortage: Sendable, Equatable {
        /// A short name, such as `descriptors`.
        var kind = ""
        var since: UTCDate?
        /// The shortage and the agent's reaction, in one sentence.
        var what = ""
    }

    /// A route, or with an empty name the agent, that is silent for too long.
    struct Silence: Sendable, Equatable {
        var route = ""
        var forSeconds: Int64 = 0
    }

    var version = ""
    var process: Int64 = 0
    var state = ""
    var since = UTCDate.now
    var uptime: Int64 = 0
    /// Whether it accepts payloads.
    var isOpen = false
    /// The stores that fail now, and why, one line each.
    var failures: [String] = []
    var transports: [Transport] = []
    var queue = Queue()
    var routes: [Route] = []
    var outcomes: [Outcome] = []
    var paced: [Paced] = []
    var kills: [Kill] = []
    var deadLetters = DeadLetters()
    var shortages: [Shortage] = []
    var silent: [Silence] = []
    /// What was recovered from a damaged state, what may be missing, and where the old file is; nil if nothing needs
    /// attention.
    var healed: String?
    /// Why the metrics file cannot be written now; nil if it can, or there is none.
    var metricsFailure: String?
}

extension AgentStatus {
    /// The reasons why it is not healthy, a few words each; empty if it is.
    ///
    /// It is healthy if it accepts payloads, no store fails, every connection is up, there is no shortage, and the
    /// queue and the dead-letter store have capacity. Kills, paced keys and silence do not count: somebody has asked
    /// for them, or the agent handles them; nor does the metrics file, without which payloads are taken as before.
    var problems: [String] {
        let links = transports.filter { $0.state != .connected && (isOpen || $0.state != .starting) }
        return refusals + links.map { "\($0.name) is \($0.state.rawValue)" } + shortcomings
    }

    /// The problems of the stores: what an agent that accepts payloads, and ends them, does not have.
    private var refusals: [String] {
        if isOpen { return failures }
        return ["accepts no payloads" + (failures.isEmpty ? ": it is starting or stopping" : "")] + failures
    }

    /// The problems other than those of connections.
    var ownProblems: [String] { refusals + shortcomings }

    private var shortcomings: [String] {
        var problems = shortages.map { "short of \($0.kind)" }
        if queue.isFull { problems.append("the queue is full") }
        if deadLetters.isFull { problems.append("the dead letters are full") }
        if deadLetters.count == nil { problems.append("the dead letters cannot be read") }
        return problems
    }

    var isHealthy: Bool { problems.isEmpty }
}
