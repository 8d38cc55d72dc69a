#if SQLite
import KiiPush
import KiiPushLinux
import Synchronization

/// Writes the notes of an inbox, many in one transaction, and the commits of a seen store between them.
///
/// What waits is written in the order in which it came, by whoever has the database: mostly a thread that lives only
/// as long as there are notes. So a commit is on disk before the note that follows it, or with it.
final class InboxWriter: Sendable {
    private enum Entry {
        case note(InboxNote, CheckedContinuation<Void, any Error>)
        case commit(QueuedCommit)

        var isNote: Bool { if case .note = self { true } else { false } }
    }

    private struct State {
        var waiting: [Entry] = []
        /// How many of what waits are notes.
        var notes = 0
        var hasThread = false

        var commits: Int { waiting.count - notes }

        mutating func take(_ count: Int) -> [Entry] {
            let batch = Array(waiting.prefix(count))
            waiting.removeFirst(batch.count)
            notes -= batch.count { $0.isNote }
            return batch
        }

        /// Puts the commits of a write that failed where they were; its notes have been told.
        mutating func putBack(_ batch: [Entry]) { waiting.insert(contentsOf: batch.lazy.filter { !$0.isNote }, at: 0) }
    }

    /// How many notes and commits one transaction has at most.
    private static let mostAtOnce = 1024
    /// How many commits may wait for a note that takes them along.
    private static let mostCommits = 4096

    let rows: Mutex<InboxRows>
    private let database: SQLiteDatabase
    // Taken after the database's lock and after a seen store's, and never held while anything is written.
    private let state = Mutex(State())

    init(_ database: SQLiteDatabase, _ rows: InboxRows) {
        self.database = database
        self.rows = Mutex(rows)
    }

    // MARK: Waiting

    /// Writes a note, together with all others that wait.
    func write(_ note: InboxNote) async throws {
        try await withCheckedThrowingContinuation { waiter in
            let needsThread = state.withLock { state in
                state.waiting.append(.note(note, waiter))
                state.notes += 1
                defer { state.hasThread = true }
                return !state.hasThread
            }
            if needsThread { startThread { self.writeAll() } }
        }
    }

    /// Queues a commit, to be written with the next note or before it.
    func queue(_ commit: QueuedCommit) { state.withLock { $0.waiting.append(.commit(commit)) } }

    /// Makes sure that there is room for another commit: blocks for a write when too many wait.
    ///
    /// - Throws: why there is none.
    func makeRoomForCommit() throws(SQLiteError) {
        while state.withLock({ $0.commits >= Self.mostCommits }) { try writeSome() }
    }

    /// Writes all that waits; blocks.
    func flush() throws(SQLiteError) {
        while state.withLock({ !$0.waiting.isEmpty }) { try writeSome() }
    }

    /// Forgets the commits that wait, since the store that they are of is gone.
    func dropCommits() { state.withLock { state in state.waiting.removeAll { !$0.isNote } } }

    // MARK: Writing

    private func writeAll() {
        while hasMore() {
            // Those who wait have been told why.
            try? writeSome()
        }
    }

    /// Whether notes wait; if not, the thread is over.
    private func hasMore() -> Bool {
        state.withLock { state in
            state.hasThread = state.notes > 0
            return state.hasThread
        }
    }

    /// Writes what waits, up to a transaction, and tells those who wait for it.
    private func writeSome() throws(SQLiteError) {
        var batch: [Entry]?
        let result: Result<Void, SQLiteError>
        do throws(SQLiteError) {
            try database.withConnection { connection throws(SQLiteError) in
                let taken = state.withLock { $0.take(Self.mostAtOnce) }
                batch = taken
                do throws(SQLiteError) { try write(taken, &connection) } catch {
                    // Before anybody else can take what came after them.
                    state.withLock { $0.putBack(taken) }
                    throw error
                }
            }
            result = .success(())
        } catch {
            result = .failure(error)
        }
        // None was taken when the database is closed.
        for case .note(_, let waiter) in batch ?? takeNotes() { waiter.resume(with: result.mapError { $0 }) }
        try result.get()
    }

    private func takeNotes() -> [Entry] {
        state.withLock { state in
            let all = state.take(.max)
            state.putBack(all)
            return all
        }
    }

    private func write(_ batch: [Entry], _ connection: inout Connection) throws(SQLiteError) {
        if batch.isEmpty { return }
        let (gone, seen) = try connection.transaction { connection throws(SQLiteError) in
            var gone: Set<Int64> = []
            var seen: (last: QueuedCommit, rows: SeenRows)?
            for entry in batch {
                switch entry {
                case .note(let note, _):
                    guard let id = Int64(exactly: note.id), has(id), !gone.contains(id) else { continue }
                    try connection.write(note, id)
                    if case .ended = note { gone.insert(id) }
                case .commit(let commit):
                    var rows = seen?.rows ?? commit.file.rows
                    try rows.insert(commit.keys, commit.time, &connection)
                    seen = (commit, rows)
                }
            }
            if case (let last, var rows)? = seen {
                try rows.forget(allBut: last.counts, areNewCounted: true, &connection)
                seen = (last, rows)
            }
            return (gone, seen)
        }
        rows.withLock { rows in
            for id in gone { rows.remove(id) }
        }
        if let seen { seen.last.file.keep(seen.rows) }
    }

    private func has(_ id: Int64) -> Bool { rows.withLock { $0.contains(id) } }
}
#endif
