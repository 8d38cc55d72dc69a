import KiiPush
package import KiiPushSystem

/// The status of a running agent: `kiipush status` prints it and `kiipush top` shows it.
package struct AgentStatus: Sendable, Equatable {
    package struct Transport: Sendable, Equatable {
        package var name = ""
        package var state = TransportLink.State.starting
        /// For how many seconds it has been in this state.
        package var forSeconds: Int64 = 0
        package var detail: String?
        /// How many seconds ago the last payload arrived; nil if none did.
        package var lastMessageAgo: Int64?
        package var lastMessageAt: UTCDate?
        package var messages: Int64 = 0
    }

    /// The messages that have not ended.
    package struct Queue: Sendable, Equatable {
        /// Payloads in memory and, with a durable inbox, on disk.
        package var messages: Int64 = 0
        package var bytes: Int64 = 0
        package var waiting: Int64 = 0
        package var handling: Int64 = 0
        package var retrying: Int64 = 0
        package var paced: Int64 = 0
        package var onDisk: Int64 = 0
        /// Those that were in flight when an earlier agent ended, for which all others wait.
        package var recovering: Int64 = 0
        package var overrunning: Int64 = 0
        package var isFull = false
    }

    /// A route's counts, and its times in milliseconds; nil before its first message.
    package struct Route: Sendable, Equatable {
        package var id = ""
        package var handled: Int64 = 0
        package var failed: Int64 = 0
        package var paced: Int64 = 0
        package var expired: Int64 = 0
        package var p50: Double?
        package var p99: Double?
        package var waitedP50: Double?
        package var waitedP99: Double?
        /// How long its handler has run in all, in seconds.
        package var handlingSeconds = 0.0
    }

    package struct Outcome: Sendable, Equatable {
        package var outcome = ""
        package var reason: String?
        package var messages: Int64 = 0
    }

    /// A key whose messages the loop guard lets wait.
    package struct Paced: Sendable, Equatable {
        package var level = ""
        package var route = ""
        package var subject = ""
        /// For how many seconds messages have waited.
        package var since: Int64 = 0
        package var waiting: Int64 = 0
        package var superseded: Int64 = 0
        /// Why they wait and what lifts that, in one sentence.
        package var why = ""
    }

    /// A target that the kill switch has off.
    package struct Kill: Sendable, Equatable {
        package var target = ""
        package var until: UTCDate?
        /// False if it is a route's id that no route has, so that the kill switches nothing off.
        package var isKnown = true
    }

    /// The dead letters; the count is nil if the store cannot be read.
    package struct DeadLetters: Sendable, Equatable {
        package var count: Int64?
        package var isFull = false
    }

    /// A resource that the agent lacks temporarily.
    package struct Shortage: Sendable, Equatable {
        /// A short name, such as `descriptors`.
        package var kind = ""
        package var since: UTCDate?
        /// The shortage and the agent's reaction, in one sentence.
        package var what = ""
    }

    /// A route, or with an empty name the agent, that is silent for too long.
    package struct Silence: Sendable, Equatable {
        package var route = ""
        package var forSeconds: Int64 = 0
    }

    /// The rules file in use, with the values of its parameters.
    package struct Rules: Sendable, Equatable {
        package var file = ""
        /// Its SHA-256, as `sha256sum` prints it.
        package var digest = ""
        package var params: [Parameter] = []
        /// Its settings that take effect only when the agent is started again.
        package var needRestart: [String] = []
        /// Since when the file as it is now is refused, and its first problem; nil if it is in use.
        package var refused: String?
    }

    /// A parameter of the rules; a secret one has no value here.
    package struct Parameter: Sendable, Equatable {
        package var name = ""
        package var value: String?
        package var isSecret = false
    }

    package var version = ""
    package var process: Int64 = 0
    package var state = ""
    package var since = UTCDate.now
    package var uptime: Int64 = 0
    package var isOpen = false
    /// The rules that are in use; nil for routes in code only.
    package var rules: Rules?
    /// The stores that fail now, and why, one line each.
    package var failures: [String] = []
    package var transports: [Transport] = []
    package var queue = Queue()
    package var routes: [Route] = []
    package var outcomes: [Outcome] = []
    package var paced: [Paced] = []
    package var kills: [Kill] = []
    package var deadLetters = DeadLetters()
    /// The gaps that wait for their handling, in words.
    package var gaps: [String] = []
    package var shortages: [Shortage] = []
    package var silent: [Silence] = []
    /// What was recovered from a damaged state, what may be missing, and where the old file is; nil for none.
    package var healed: String?
    /// Why the metrics file cannot be written now; nil if it can, or there is none.
    package var metricsFailure: String?
}

extension AgentStatus {
    /// The reasons why it is not healthy, a few words each; empty if it is.
    ///
    /// It is healthy if it accepts payloads, no store fails, every connection is up, there is no shortage, and the
    /// queue and the dead-letter store have capacity. Kills, paced keys and silence do not count: somebody has asked
    /// for them, or the agent handles them; nor does the metrics file, without which payloads are taken as before.
    package var problems: [String] {
        let links = transports.filter { $0.state != .connected && (isOpen || $0.state != .starting) }
        return refusals + links.map { "\($0.name) is \($0.state.rawValue)" } + shortcomings
    }

    /// The problems of the stores: what an agent that accepts payloads, and ends them, does not have.
    private var refusals: [String] {
        if isOpen { return failures }
        return ["accepts no payloads" + (failures.isEmpty ? ": it is starting or stopping" : "")] + failures
    }

    /// The problems other than those of connections.
    package var ownProblems: [String] { refusals + shortcomings }

    private var shortcomings: [String] {
        var problems = shortages.map { "short of \($0.kind)" }
        if queue.isFull { problems.append("the queue is full") }
        if deadLetters.isFull { problems.append("the dead letters are full") }
        if deadLetters.count == nil { problems.append("the dead letters cannot be read") }
        return problems
    }

    package var isHealthy: Bool { problems.isEmpty }
}
