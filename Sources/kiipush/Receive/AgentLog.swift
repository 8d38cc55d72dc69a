import KiiPush
import KiiPushLinux
import KiiPushTesting

/// The agent's log: a line an outcome, with the priority in front that journald reads.
struct AgentLog: Sendable {
    let console: Console
    /// Whether only what somebody should look at is logged.
    let isQuiet: Bool

    /// Says how the agent is doing.
    func note(_ text: String) { write(JournalLine(.information, "kiipush: \(text)")) }

    /// Says what somebody should look at.
    func trouble(_ text: String) { write(JournalLine(.warning, "kiipush: \(text)")) }

    func write(_ line: JournalLine) {
        if !isQuiet || line.priority != .information { console.error(line.description) }
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
