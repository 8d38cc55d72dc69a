import KiiPush
import KiiPushDelivery
import KiiPushSystem
import KiiPushRules

/// The agent's log: a line per outcome, prefixed with a priority for journald.
package struct AgentLog: Sendable {
    /// Whether only lines that need attention are logged.
    let isQuiet: Bool
    /// Keeps the lines of one key from filling the log.
    var quota = LineQuota()
    let writer: LogWriter
    let shortages: Shortages

    /// Logs a line as it is, without a priority.
    package func line(_ text: String) { writer.add(text) }

    /// Logs information about the agent.
    package func note(_ text: String) { write(JournalLine(.information, "kiipush: \(text)")) }

    /// Logs something that needs attention.
    package func trouble(_ text: String) { write(JournalLine(.warning, "kiipush: \(text)")) }

    /// Logs a message's outcome, within the quota of its key.
    func tell(_ trace: Trace) {
        let priority = JournalLine.Priority(trace.outcome)
        if isLeftOut(priority) { return }
        // Beyond the quota no line is made at all.
        write(quota.lines(LineQuota.Key(trace), priority: priority, of: .init(trace)) { JournalLine(trace) })
    }

    /// Logs a service's event, within the quota of its key.
    func tell(_ event: ServiceEvent) {
        let line = JournalLine(event)
        if isLeftOut(line.priority) { return }
        write(quota.lines(LineQuota.Key(event), priority: line.priority, of: .init(event)) { line })
    }

    /// Logs a line of a message's program; the message's last line is then logged, too.
    func tell(_ priority: JournalLine.Priority, _ line: String, of message: UInt64) {
        if isLeftOut(priority) { return }
        quota.began(message)
        write(JournalLine(priority, "kiipush: \(line)", message: message))
    }

    /// Logs the counts of omitted lines; of all keys at the end.
    func tellLeftOut(all: Bool = false) { write(quota.leftOut(all: all)) }

    /// Logs the counts of omitted lines every five seconds until its task is cancelled.
    func keepTellingLeftOut() async {
        while !Task.isCancelled {
            do { try await Task.sleep(for: .seconds(5)) } catch { return }
            tellLeftOut()
        }
    }

    private func write(_ lines: [JournalLine]) { for line in lines { write(line) } }

    private func isLeftOut(_ priority: JournalLine.Priority) -> Bool { isQuiet && priority == .information }

    func write(_ line: JournalLine) {
        if !isLeftOut(line.priority) { writer.add(line.encoded) }
    }

    /// Logs that a shortage has begun or ended.
    func tell(_ change: Shortages.Change) {
        switch change {
        // Later readers see the line in the place of the dropped ones.
        case .began(let shortage) where shortage.kind == .log: break
        case .ended(let shortage) where shortage.kind == .log: break
        // The transport reports both itself.
        case .began(let shortage) where shortage.kind == .broker: break
        case .ended(let shortage) where shortage.kind == .broker: break
        case .began: trouble("\(change)")
        case .ended: note("\(change)")
        }
    }

    /// Logs that a silence has begun or ended.
    func tell(_ change: SilenceWatch.Change) {
        if change.isSilent { trouble(change.description) } else { note(change.description) }
    }

    func tell(_ update: RulesUpdate) {
        switch update {
        case .loaded: note("\(update)")
        case .refused(let problems):
            trouble("the new rules are invalid; the current ones stay in use")
            for problem in problems { trouble("\(problem)") }
        case .overtaken: break
        }
    }
}
