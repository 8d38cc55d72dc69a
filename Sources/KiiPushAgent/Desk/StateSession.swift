import KiiPush
import KiiPushDelivery
import KiiPushSQLite
import KiiPushSystem

/// Takes the lines of a command's answer.
package struct DeskConsole: Sendable {
    let print: @Sendable (String) -> Void
    let error: @Sendable (String) -> Void
    /// Whether somebody still waits for the answer.
    let isHeard: @Sendable () -> Bool

    package init(
        print: @escaping @Sendable (String) -> Void, error: @escaping @Sendable (String) -> Void,
        isHeard: @escaping @Sendable () -> Bool = { true }
    ) { (self.print, self.error, self.isHeard) = (print, error, isHeard) }

    func fail(_ text: String, _ code: ExitCode = .failed) -> ExitCode {
        error(text)
        return code
    }
}

/// The session of commands on a state directory: the stores of its running agent, or the files themselves.
package struct StateSession: Sendable {
    let deadLetters: any DeadLetterStore
    /// The agent's service, which enforces the handlers' time limits; nil if none runs.
    var service: PushService?
    var agent: AgentIdentity?
}

extension AgentState {
    /// The session for commands while no agent runs.
    package func session() throws -> StateSession {
        #if SQLite
        return StateSession(deadLetters: try SQLiteDeadLetterStore(database))
        #else
        throw AgentError("\(escaped(directory)): this kiipush keeps nothing there; build it with the trait SQLite")
        #endif
    }
}
