import KiiPushSQLite

extension AgentState {
    /// What commands work with while no agent runs.
    func desk() throws -> AgentDesk {
        #if SQLite
        let inbox = try SQLiteInbox(database)
        return AgentDesk(deadLetters: try SQLiteDeadLetterStore(database), receiver: nil, waiting: inbox.count)
        #else
        throw StateError(path: directory, what: "this kiipush keeps nothing there; build it with the trait SQLite")
        #endif
    }
}
