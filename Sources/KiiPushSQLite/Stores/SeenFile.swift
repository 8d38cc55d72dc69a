#if SQLite
import KiiPush
import Synchronization

/// The rows of a deduplication store in its file, for those that write there; read and changed under the database's
/// lock.
final class SeenFile: Sendable {
    private let state: Mutex<SeenRows>

    init(_ rows: SeenRows) { state = Mutex(rows) }

    /// The rows, to be changed and kept when the transaction has been committed.
    var rows: SeenRows { state.withLock { $0 } }

    func keep(_ rows: SeenRows) { state.withLock { $0 = rows } }
}

/// A commit that the store has in memory and that is written with the records of an inbox.
struct QueuedCommit: Sendable {
    let file: SeenFile
    let keys: DedupeKeys
    let time: StoredTime
    /// The store's counts in memory just after it.
    let counts: SeenCounts
}
#endif
