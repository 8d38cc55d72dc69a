import KiiPushSQLite

extension AgentState {
    /// The session for commands while no agent runs.
    func session() throws -> StateSession {
        #if SQLite
        let inbox = try SQLiteInbox(database)
        return StateSession(deadLetters: try SQLiteDeadLetterStore(database), receiver: nil, waiting: inbox.count)
        #else
        throw StateError(path: directory, what: "this kiipush keeps nothing there; build it with the trait SQLite")
        #endif
    }
}
