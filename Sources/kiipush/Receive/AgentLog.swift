import KiiPush
import KiiPushDelivery
import KiiPushLinux
import KiiPushRules

/// The agent's log: a line an outcome, with the priority in front that journald reads.
struct AgentLog: Sendable {
    let console: Console
    /// Whether only what somebody should look at is logged.
    let isQuiet: Bool
    /// What keeps the lines of one key from filling the log.
    var quota = LineQuota()
    /// What writes the lines, and what the agent lacks; nil in tests.
    var writer: LogWriter?
    var shortages: Shortages?

    /// Says how the agent is doing.
    func note(_ text: String) { write(JournalLine(.information, "kiipush: \(text)")) }

    /// Says what somebody should look at.
    func trouble(_ text: String) { write(JournalLine(.warning, "kiipush: \(text)")) }

    /// Says how a message ended, unless very many of its key have.
    func tell(_ trace: Trace) {
        let priority = JournalLine.Priority(trace.outcome)
        if isLeftOut(priority) { return }
        // Of very many messages no line is made at all.
        write(quota.lines(LineQuota.Key(trace), priority: priority) { JournalLine(trace) })
    }

    /// Says what a service says, unless it says very much of that.
    func tell(_ event: ServiceEvent) {
        let line = JournalLine(event)
        if !isLeftOut(line.priority) { write(quota.lines(LineQuota.Key(event), priority: line.priority) { line }) }
    }

    /// Says what was left out until now; of all keys at the end.
    func tellLeftOut(all: Bool = false) { write(quota.leftOut(all: all)) }

    /// Says what was left out, every five seconds until its task is cancelled.
    func keepTellingLeftOut() async {
        while !Task.isCancelled {
            do { try await Task.sleep(for: .seconds(5)) } catch { return }
            tellLeftOut()
        }
    }

    private func write(_ lines: [JournalLine]) { for line in lines { write(line) } }

    private func isLeftOut(_ priority: JournalLine.Priority) -> Bool { isQuiet && priority == .information }

    func write(_ line: JournalLine) {
        if !isLeftOut(line.priority) { console.error(line.encoded) }
    }

    /// Says that something is lacking, or is there again.
    func tell(_ change: Shortages.Change) {
        switch change {
        // Those who read the log again are told by the line in the place of those that were dropped.
        case .began(let shortage) where shortage.kind == .log: break
        case .ended(let shortage) where shortage.kind == .log: break
        // The transport says both itself.
        case .began(let shortage) where shortage.kind == .broker: break
        case .ended(let shortage) where shortage.kind == .broker: break
        case .began: trouble("\(change)")
        case .ended: note("\(change)")
        }
    }

    /// Says that nothing comes any more, or again.
    func tell(_ change: SilenceWatch.Change) {
        if change.isSilent { trouble(change.description) } else { note(change.description) }
    }

    func tell(_ update: RulesUpdate) {
        switch update {
        case .loaded: note("\(update)")
        case .refused(let problems):
            trouble("the rules stay as they are, since the new ones are wrong")
            for problem in problems { trouble("\(problem)") }
        case .overtaken: break
        }
    }
}
