import KiiPushSQLite

extension AgentState {
    /// The session for commands while no agent runs.
    package func session() throws -> StateSession {
        #if SQLite
        return StateSession(deadLetters: try SQLiteDeadLetterStore(database), receiver: nil)
        #else
        throw AgentError("\(escaped(directory)): this kiipush keeps nothing there; build it with the trait SQLite")
        #endif
    }
}
