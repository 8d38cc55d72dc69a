import KiiPush
import KiiPushLinux

/// How a running agent is doing: what `kiipush status` prints and `kiipush top` shows.
struct AgentStatus: Sendable, Equatable {
    /// A transport and its link.
    struct Transport: Sendable, Equatable {
        var name = ""
        var state = TransportLink.State.starting
        /// For how many seconds it has been in this state.
        var forSeconds: Int64 = 0
        var detail: String?
        /// How many seconds ago the last payload came; nil where none did.
        var lastMessageAgo: Int64?
        var lastMessageAt: UTCDate?
        var messages: Int64 = 0
    }

    /// What has not ended.
    struct Queue: Sendable, Equatable {
        /// Payloads in memory and, of a durable inbox, those that wait on disk; not those that the loop guard holds.
        var messages: Int64 = 0
        var bytes: Int64 = 0
        var waiting: Int64 = 0
        var handling: Int64 = 0
        var retrying: Int64 = 0
        var held: Int64 = 0
        var onDisk: Int64 = 0
        var overrunning: Int64 = 0
        var isFull = false
    }

    /// A route's counts, and its times in milliseconds; nil before its first message.
    struct Route: Sendable, Equatable {
        var id = ""
        var handled: Int64 = 0
        var failed: Int64 = 0
        var held: Int64 = 0
        var expired: Int64 = 0
        var p50: Double?
        var p99: Double?
        var waitedP50: Double?
        var waitedP99: Double?
        /// How long its handler has run in all, in seconds.
        var handlingSeconds = 0.0
    }

    /// How many messages ended so.
    struct Outcome: Sendable, Equatable {
        var outcome = ""
        var reason: String?
        var messages: Int64 = 0
    }

    /// An open breaker of the loop guard.
    struct Breaker: Sendable, Equatable {
        var level = ""
        var step = ""
        var messages: Int64 = 0
        /// Why it is open and what comes next, in one sentence.
        var why = ""
    }

    /// What the kill switch has off.
    struct Kill: Sendable, Equatable {
        var target = ""
        var until: UTCDate?
    }

    /// The messages that were put aside; the count is nil where the store cannot be read.
    struct DeadLetters: Sendable, Equatable {
        var count: Int64?
        var isFull = false
    }

    /// Something that the agent lacks, and does without until it is there again.
    struct Shortage: Sendable, Equatable {
        /// A short name, such as `descriptors`.
        var kind = ""
        var since: UTCDate?
        /// What it is about and what the agent does about it, in one sentence.
        var what = ""
    }

    /// A route, or with an empty name the agent, that is silent for longer than it may be.
    struct Silence: Sendable, Equatable {
        var route = ""
        var forSeconds: Int64 = 0
    }

    var version = ""
    var process: Int64 = 0
    var state = ""
    var since = UTCDate.now
    var uptime: Int64 = 0
    /// Whether it takes payloads in.
    var isOpen = false
    var transports: [Transport] = []
    var queue = Queue()
    var routes: [Route] = []
    var outcomes: [Outcome] = []
    var breakers: [Breaker] = []
    var kills: [Kill] = []
    var deadLetters = DeadLetters()
    var shortages: [Shortage] = []
    var silent: [Silence] = []
    /// What was saved of a damaged state, what may be missing, and where the old file lies; nil when nobody has to
    /// look.
    var healed: String?
}

extension AgentStatus {
    /// Why it is not healthy, a few words each; empty while it is.
    ///
    /// Healthy is: it takes payloads in, every link is up, nothing is short, the queue and the dead letters have room.
    /// Kills, breakers and silence are what somebody has asked for or what the agent deals with: they count for
    /// nothing.
    var problems: [String] {
        var problems: [String] = []
        if !isOpen { problems.append("it takes nothing in: it handles what was in flight, or stops") }
        for link in transports where link.state != .connected && (isOpen || link.state != .starting) {
            problems.append("\(link.name) is \(link.state.rawValue)")
        }
        problems += shortages.map { "short of \($0.kind)" }
        if queue.isFull { problems.append("the queue is full") }
        if deadLetters.isFull { problems.append("the dead letters are full") }
        if deadLetters.count == nil { problems.append("the dead letters cannot be read") }
        return problems
    }

    var isHealthy: Bool { problems.isEmpty }
}
