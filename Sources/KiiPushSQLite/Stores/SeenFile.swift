#if SQLite
import KiiPush
import Synchronization

/// What a seen store has in its file, for those who write there; looked at and changed under the database's lock.
final class SeenFile: Sendable {
    private let state: Mutex<SeenRows>

    init(_ rows: SeenRows) { state = Mutex(rows) }

    /// What is there, to be changed and kept when the transaction has ended well.
    var rows: SeenRows { state.withLock { $0 } }

    func keep(_ rows: SeenRows) { state.withLock { $0 = rows } }
}

/// A commit that the store has in memory, on its way to the file with the notes of an inbox.
struct QueuedCommit: Sendable {
    let file: SeenFile
    let keys: DedupeKeys
    let time: StoredTime
    /// What the store held in memory just after it.
    let counts: SeenCounts
}
#endif
