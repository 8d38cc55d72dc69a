import KiiPush
import KiiPushDelivery
import KiiPushSystem
import KiiPushRules

/// The agent's log: a line per outcome, prefixed with a priority for journald.
package struct AgentLog: Sendable {
    let isQuiet: Bool
    private let quota = LineQuota()
    let writer: LogWriter
    let shortages: Shortages

    /// Logs a line as it is, without a priority.
    package func line(_ text: String) { writer.add(JournalLine(asItIs: text)) }

    package func note(_ text: String) { write(JournalLine(.information, "kiipush: \(text)")) }

    package func trouble(_ text: String) { write(JournalLine(.warning, "kiipush: \(text)")) }

    func trouble(_ text: String, _ kind: String, of route: String) {
        if quota.takes(LineQuota.Key(kind: kind, route: route), .warning) { trouble(text) }
    }

    /// Logs why something that is tried again and again fails: once, until it succeeds or fails for another reason.
    func trouble(onceIn failure: Current<String>, _ body: () throws(WriteError) -> Void) {
        do throws(WriteError) {
            try body()
            failure.set(nil)
        } catch {
            if failure.set("\(error)") { trouble("\(error)") }
        }
    }

    func tell(_ trace: Trace) {
        let priority = JournalLine.Priority(trace.outcome)
        // Beyond the quota no line is made at all.
        if !isLeftOut(priority), quota.takes(LineQuota.Key(trace), priority) { write(JournalLine(trace)) }
    }

    func tell(_ event: ServiceEvent) {
        let line = JournalLine(event)
        if !isLeftOut(line.priority), quota.takes(LineQuota.Key(event), line.priority) { write(line) }
    }

    /// Logs a line of a message's program; waits a moment if the log is behind.
    func tell(_ priority: JournalLine.Priority, _ line: String, of message: UInt64) {
        if !isLeftOut(priority) {
            writer.add(patiently: JournalLine(priority, "kiipush: \(line)", message: message))
        }
    }

    /// Logs the counts of omitted lines; of all keys at the end.
    func tellLeftOut(all: Bool = false) { for line in quota.leftOut(all: all) { write(line) } }

    private func isLeftOut(_ priority: JournalLine.Priority) -> Bool { isQuiet && priority == .information }

    func write(_ line: JournalLine) {
        if !isLeftOut(line.priority) { writer.add(line) }
    }

    func tell(_ change: Shortages.Change) {
        switch change {
        // Later readers see a line in the place of dropped ones; a transport reports its broker itself.
        case .began(let shortage) where [.log, .broker].contains(shortage.kind): break
        case .ended(let shortage) where [.log, .broker].contains(shortage.kind): break
        case .began: trouble("\(change)")
        case .ended: note("\(change)")
        }
    }

    func tell(_ change: SilenceWatch.Change) {
        if change.isSilent { trouble(change.description) } else { note(change.description) }
    }

    func tell(_ update: RulesUpdate) {
        switch update {
        // Half of a new file is in use: that needs attention.
        case .loaded(let loaded) where !loaded.needRestart.isEmpty: trouble("\(update)")
        case .loaded: note("\(update)")
        case .refused(let problems):
            trouble("the new rules are invalid; the current ones stay in use")
            for problem in problems { trouble("\(problem)") }
        case .overtaken: break
        }
    }
}
