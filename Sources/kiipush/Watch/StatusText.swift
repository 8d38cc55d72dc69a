import KiiPush
import KiiPushAgent
import KiiPushSystem

/// An agent's status for people, in lines of limited width.
struct StatusText {
    let status: AgentStatus
    let width: Int

    private static let margin = 12
    private static let mostPaced = 10

    var lines: [String] { head + facts + [""] + routes(status.routes) }

    var head: [String] {
        let health = status.isHealthy ? "healthy" : "NOT HEALTHY"
        let who = "agent \(status.process), kiipush \(escaped(status.version)): \(health)"
        let since = "up \(Figures.seconds(status.uptime)), since \(status.since.wholeSeconds)"
        // On one line if both fit.
        let first = who.count + since.count + 2 <= width ? [who + "; " + since] : [who, since]
        return first + status.problems.flatMap { entry("problem", $0) }
    }

    var facts: [String] {
        var lines = entry("state", status.state)
        if let rules = status.rules {
            lines += entry("rules", "\(rules.file), SHA-256 \(rules.digest)")
            if let refused = rules.refused { lines += entry("", "the file as it is now is refused \(refused)") }
            if !rules.needRestart.isEmpty {
                lines += entry("", "not in use until a restart: \(rules.needRestart.joined(separator: ", "))")
            }
            for parameter in rules.params {
                let value = parameter.value ?? (parameter.isSecret ? "(secret)" : "(none)")
                lines += entry("", "\(parameter.name) = \(value)")
            }
        }
        for link in status.transports {
            let detail = link.detail.map { "; \($0)" } ?? ""
            lines += entry(
                "link", "\(link.name) \(link.state.rawValue) for \(Figures.seconds(link.forSeconds))\(detail)")
            let ago = link.lastMessageAgo.map { "last message \(Figures.seconds($0)) ago" } ?? "no message yet"
            lines += entry("", "\(ago), \(Figures.count(link.messages)) in all")
        }
        lines += entry("queue", queue)
        lines += entry("ended", outcomes)
        lines += entry("dead", letters)
        for key in status.paced.prefix(Self.mostPaced) {
            let waiting = "\(Figures.count(key.waiting)) wait since \(Figures.seconds(key.since))"
            lines += entry("loop guard", "\(waiting), \(Figures.count(key.superseded)) superseded; \(key.why)")
        }
        let more = status.paced.count - Self.mostPaced
        if more > 0 { lines += entry("", "and \(more) more") }
        for kill in status.kills {
            let end = kill.until.map { " until \($0.wholeSeconds)" } ?? ""
            let doubt = kill.isKnown ? "" : ", but no route has this id, so this switches nothing off"
            lines += entry("killed", (kill.target == "*" ? "everything" : kill.target) + " is off" + end + doubt)
        }
        for gap in status.gaps { lines += entry("gap", "\(gap); new messages wait until it is handled") }
        for shortage in status.shortages {
            let since = shortage.since.map { " since \($0.wholeSeconds)" } ?? ""
            lines += entry("shortage", "\(shortage.kind)\(since): \(shortage.what)")
        }
        if let healed = status.healed { lines += entry("healed", healed) }
        if let failure = status.metricsFailure { lines += entry("metrics", failure) }
        for silence in status.silent {
            let who = silence.route.isEmpty ? "nothing came" : "nothing for route \(silence.route)"
            lines += entry("silent", "\(who) for \(Figures.seconds(silence.forSeconds))")
        }
        return lines
    }

    private var queue: String {
        let queue = status.queue
        let parts = [
            (queue.handling, "handled now"), (queue.waiting, "waiting"), (queue.retrying, "tried again"),
            (queue.paced, "paced"), (queue.onDisk, "on disk"), (queue.overrunning, "beyond their time"),
            (queue.recovering, "in flight at the last crash: run alone first, and all others wait"),
        ].filter { $0.0 > 0 }.map { "\(Figures.count($0.0)) \($0.1)" }
        if queue.messages == 0, parts.isEmpty { return "empty" }
        let count = "\(Figures.count(queue.messages)) \(queue.messages == 1 ? "message" : "messages")"
        return "\(count), \(Figures.bytes(queue.bytes))\(queue.isFull ? ", FULL" : "")"
            + (parts.isEmpty ? "" : ": " + parts.joined(separator: ", "))
    }

    private var outcomes: String {
        let ended = status.outcomes.sorted { $0.messages > $1.messages }
        if ended.isEmpty { return "nothing yet" }
        return ended.map { count in
            "\(Figures.count(count.messages)) \(count.outcome)\(count.reason.map { " (\($0))" } ?? "")"
        }.joined(separator: ", ")
    }

    private var letters: String {
        guard let count = status.deadLetters.count else { return "the dead letters cannot be read" }
        if count == 0 { return "no dead letters" }
        return "\(Figures.count(count)) dead \(count == 1 ? "letter" : "letters")"
            + (status.deadLetters.isFull ? ", FULL: replay or drop some" : "")
    }

    /// A name in the margin and a text beside it, on as many lines as it needs.
    private func entry(_ name: String, _ text: String) -> [String] {
        Figures.wrapped(escaped(text), width - Self.margin).enumerated().map { index, line in
            Figures.column(index == 0 ? name : "", Self.margin) + line
        }
    }

    func routes(_ routes: [AgentStatus.Route]) -> [String] {
        if routes.isEmpty { return ["no routes"] }
        let columns = [("HANDLED", 10), ("FAILED", 8), ("PACED", 7), ("P50", 8), ("P99", 8), ("WAIT P99", 9)]
        let table = RouteTable(columns, of: routes, width: width)
        return [table.header]
            + routes.map { route in
                table.line(
                    route.id,
                    [
                        Figures.count(route.handled), Figures.count(route.failed), Figures.count(route.paced),
                        Figures.time(route.p50), Figures.time(route.p99), Figures.time(route.waitedP99),
                    ])
            }
    }
}

/// A table of routes, in lines of limited width: their ids, and columns of fixed widths.
struct RouteTable {
    private let columns: [(title: String, width: Int)]
    /// The width of the ids, which those of all routes determine.
    private let idWidth: Int

    init(_ columns: [(title: String, width: Int)], of routes: [AgentStatus.Route], width: Int) {
        self.columns = columns
        let longest = routes.map(\.id.count).max() ?? 0
        idWidth = max(min(width - columns.reduce(0) { $0 + $1.width }, max(longest, 20) + 1), 8)
    }

    var header: String { line("ROUTE", columns.map(\.title)) }

    func line(_ id: String, _ cells: [String]) -> String {
        Figures.column(id, idWidth - 1) + " "
            + zip(cells, columns).map { Figures.column($0, $1.width, isRight: true) }.joined()
    }
}
