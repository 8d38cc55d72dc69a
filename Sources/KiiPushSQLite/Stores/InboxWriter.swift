#if SQLite
import KiiPush
import KiiPushLinux
import Synchronization

/// Writes the notes of an inbox, many in one transaction, and the commits of a seen store between them.
///
/// What waits is written in the order in which it came, by whoever has the database: a thread that lives only as long as
/// there are notes, or one that adds payloads and takes along what waits. So a commit is on disk before the note that
/// follows it, or with it.
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
    }

    /// How many notes and commits one transaction has at most.
    private static let mostAtOnce = 1024
    /// How many commits may wait for a note that takes them along.
    private static let mostCommits = 4096

    let rows: Mutex<InboxRows>
    private let database: SQLiteDatabase
    // Taken after the database's lock and after a seen store's, and never held while anything is written.
    private let state = Mutex(State())
    /// Starts a thread for work, or does it where there is none to be had.
    private let startWork: @Sendable (@escaping @Sendable () -> Void) -> Void

    init(
        _ database: SQLiteDatabase, _ rows: InboxRows,
        startWork: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void = { startThread($0) }
    ) {
        self.database = database
        self.rows = Mutex(rows)
        self.startWork = startWork
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
            if needsThread { startWriting() }
        }
    }

    /// Queues a commit, to be written with the next note or before it.
    func queue(_ commit: QueuedCommit) { state.withLock { $0.waiting.append(.commit(commit)) } }

    /// Makes sure that there is room for another commit: blocks for a write when too many wait.
    ///
    /// - Throws: why there is none.
    func makeRoomForCommit() throws(SQLiteError) {
        while state.withLock({ $0.commits >= Self.mostCommits }) { try writeAndTell() }
    }

    /// Writes all that waits; blocks.
    func flush() throws(SQLiteError) {
        while state.withLock({ !$0.waiting.isEmpty }) { try writeAndTell() }
    }

    /// Forgets the commits that wait, since the store that they are of is gone.
    func dropCommits() { state.withLock { state in state.waiting.removeAll { !$0.isNote } } }

    // MARK: Writing

    /// Adds payloads in one transaction with what waits, so that they share its write.
    ///
    /// - Parameter add: writes the payloads down, and notes them in the changes.
    /// - Returns: what `add` returned, when it is on disk.
    /// - Throws: why nothing was written; what waited still waits, and is tried again without them.
    func write<Result: Sendable>(
        _ add: (inout Connection, inout InboxChanges) throws(SQLiteError) -> Result
    ) throws(SQLiteError) -> Result {
        var batch: [Entry] = []
        var needsThread = false
        // With the database let go of: where there is no thread to be had, the writing is done here.
        defer { if needsThread { startWriting() } }
        let result = try database.withConnection { connection throws(SQLiteError) in
            batch = state.withLock { $0.take(Self.mostAtOnce) }
            do throws(SQLiteError) { return try write(batch, &connection, add) } catch {
                needsThread = putBack(batch)
                throw error
            }
        }
        Written(batch: batch, result: .success(())).tell()
        return result
    }

    private func startWriting() {
        // Kept for no longer than a write: whoever is told may let go of the database, and open it again at once.
        startWork { [weak self] in
            while let written = self?.writeNext() { written.tell() }
        }
    }

    /// What was tried to be written, and how that ended.
    private struct Written {
        let batch: [Entry]
        let result: Swift.Result<Void, SQLiteError>

        /// Tells those who wait for it.
        func tell() {
            for case .note(_, let waiter) in batch { waiter.resume(with: result.mapError { $0 }) }
        }
    }

    /// Writes for the thread; nil when no notes wait, and its work is over.
    private func writeNext() -> Written? {
        let hasMore = state.withLock { state in
            state.hasThread = state.notes > 0
            return state.hasThread
        }
        return hasMore ? writeSome() : nil
    }

    private func writeAndTell() throws(SQLiteError) {
        let written = writeSome()
        written.tell()
        try written.result.get()
    }

    /// Writes what waits, up to a transaction; of one that failed the commits wait on.
    private func writeSome() -> Written {
        var batch: [Entry] = []
        do throws(SQLiteError) {
            try database.withConnection { connection throws(SQLiteError) in
                batch = state.withLock { $0.take(Self.mostAtOnce) }
                do throws(SQLiteError) { try write(batch, &connection) { _, _ in } } catch {
                    // Before anybody else can take what came after them.
                    _ = putBack(batch.filter { !$0.isNote })
                    throw error
                }
            }
            return Written(batch: batch, result: .success(()))
        } catch {
            // None was taken when the database is closed.
            return Written(batch: batch.isEmpty ? takeNotes() : batch, result: .failure(error))
        }
    }

    private func takeNotes() -> [Entry] {
        state.withLock { state in
            let all = state.take(.max)
            state.waiting = all.filter { !$0.isNote }
            return all
        }
    }

    /// Lets what a write could not take wait where it was.
    ///
    /// - Returns: whether there are notes in it and no thread that writes them: start one then.
    private func putBack(_ batch: [Entry]) -> Bool {
        state.withLock { state in
            state.waiting.insert(contentsOf: batch, at: 0)
            state.notes += batch.count(where: \.isNote)
            defer { state.hasThread = state.hasThread || state.notes > 0 }
            return state.notes > 0 && !state.hasThread
        }
    }

    private func write<Result>(
        _ batch: [Entry], _ connection: inout Connection,
        _ add: (inout Connection, inout InboxChanges) throws(SQLiteError) -> Result
    ) throws(SQLiteError) -> Result {
        let (result, changes, seen) = try connection.transaction { connection throws(SQLiteError) in
            var changes = InboxChanges()
            var seen: (last: QueuedCommit, rows: SeenRows)?
            for entry in batch {
                switch entry {
                case .note(let note, _):
                    guard let id = Int64(exactly: note.id), has(id), !changes.gone.contains(id) else { continue }
                    try connection.write(note, id)
                    if case .ended = note { changes.gone.insert(id) }
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
            return (try add(&connection, &changes), changes, seen)
        }
        rows.withLock { $0.apply(changes) }
        if let seen { seen.last.file.keep(seen.rows) }
        return result
    }

    private func has(_ id: Int64) -> Bool { rows.withLock { $0.contains(id) } }
}
#endif
