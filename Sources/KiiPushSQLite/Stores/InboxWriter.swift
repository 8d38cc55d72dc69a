#if SQLite
import KiiPush
import KiiPushDelivery
import KiiPushSystem
import Synchronization

/// Writes the records of an inbox, many in one transaction, together with the commits of a deduplication store and the
/// letters of a dead-letter store.
///
/// Entries are written in the order in which they were queued, by the writer's own thread, or by a thread that adds
/// payloads. So a commit is on disk with the record that follows it, or earlier. A dead letter waits for the next
/// record of its payload, and is on disk with that.
final class InboxWriter: Sendable {
    private enum Entry {
        /// The records of one call.
        case records([InboxRecord], CheckedContinuation<Void, any Error>)
        case commit(QueuedCommit)

        var hasRecords: Bool { if case .records = self { true } else { false } }
        var records: [InboxRecord] { if case .records(let records, _) = self { records } else { [] } }

        /// Whether it is only the beginning of attempts of payloads beyond a number.
        func isBeginning(beyond last: Int64) -> Bool {
            hasRecords
                && records.allSatisfy { record in
                    if case .begun(let id, _) = record { Int64(truncatingIfNeeded: id) > last } else { false }
                }
        }
    }

    private struct State {
        var waiting: [Entry] = []
        /// How many of the waiting entries are calls with records.
        var calls = 0
        /// Whether the thread writes, or is about to.
        var isWriting = false
        /// The dead letters that wait for a record of their payload, by its number.
        var letters: [Int64: [(table: LetterTable, waiting: LetterTable.Waiting)]] = [:]

        var commits: Int { waiting.count - calls }

        mutating func take(_ count: Int) -> [Entry] {
            let batch = Array(waiting.prefix(count))
            waiting.removeFirst(batch.count)
            calls -= batch.count { $0.hasRecords }
            return batch
        }
    }

    /// The most calls and commits in one transaction.
    private static let mostAtOnce = 1024
    /// The most commits that may wait for a record.
    private static let mostCommits = 4096

    let rows: Mutex<InboxRows>
    /// The number of the last payload of an earlier process.
    let lastOfOthers: Int64
    private let database: SQLiteDatabase
    // Locked after the database and after a deduplication store, and never during a write.
    private let state = Mutex(State())
    private let thread: SerialThread

    init(_ database: SQLiteDatabase, _ rows: InboxRows, _ thread: SerialThread = SerialThread()) {
        (self.database, self.thread) = (database, thread)
        lastOfOthers = rows.last
        self.rows = Mutex(rows)
    }

    // MARK: Waiting

    /// Writes records, all or none of them, together with all others that wait.
    func write(_ records: [InboxRecord]) async throws {
        if records.isEmpty { return }
        try await withCheckedThrowingContinuation { waiter in
            let isWriting = state.withLock { state in
                state.waiting.append(.records(records, waiter))
                state.calls += 1
                defer { state.isWriting = true }
                return state.isWriting
            }
            if !isWriting { haveWritten() }
        }
    }

    /// Queues a commit, to be written with the next record or before it.
    func queue(_ commit: QueuedCommit) { state.withLock { $0.waiting.append(.commit(commit)) } }

    /// Queues a dead letter, to be written with the next record of its payload, which must exist.
    func queue(_ letter: LetterTable.Waiting, in table: LetterTable, of payload: Int64) {
        state.withLock { $0.letters[payload, default: []].append((table, letter)) }
    }

    /// Forgets the waiting dead letters, because their payloads are handled again.
    func dropLetters() {
        let letters = state.withLock { state in
            defer { state.letters = [:] }
            return state.letters.values.flatMap(\.self)
        }
        for letter in letters { letter.table.forget(letter.waiting) }
    }

    /// Makes sure that another commit can be queued: writes, and blocks for it, when too many wait.
    func makeRoomForCommit() throws(SQLiteError) {
        while state.withLock({ $0.commits >= Self.mostCommits }) { try writeAndTell() }
    }

    /// Writes everything that waits, and blocks for it.
    func flush() throws(SQLiteError) {
        while state.withLock({ !$0.waiting.isEmpty }) { try writeAndTell() }
    }

    /// Forgets the waiting commits, because their store was released.
    func dropCommits() { state.withLock { state in state.waiting.removeAll { !$0.hasRecords } } }

    // MARK: The thread

    /// Has the thread write until no records wait.
    private func haveWritten() {
        // Kept for no longer than a write: the caller may release the database, and open it again at once.
        thread.add { [weak self] in
            while let written = self?.writeNext() { written.tell() }
        }
    }

    /// Writes once for the thread; nil when no records wait.
    private func writeNext() -> Written? {
        let hasMore = state.withLock { state in
            state.isWriting = state.calls > 0
            return state.isWriting
        }
        return hasMore ? writeSome() : nil
    }

    // MARK: Writing

    /// Adds payloads in one transaction with the waiting entries; if it throws, nothing was written, and the entries
    /// are tried again without the payloads.
    func write<Result: Sendable>(
        _ add: (inout Connection, inout InboxChanges) throws(SQLiteError) -> Result
    ) throws(SQLiteError) -> Result {
        var written = Written()
        var areLeft = false
        // After the database is released: if no thread can be started, this thread writes.
        defer { if areLeft { haveWritten() } }
        let result = try database.withConnection { connection throws(SQLiteError) in
            let batch = state.withLock { $0.take(Self.mostAtOnce) }
            do throws(SQLiteError) {
                let result = try write(batch, &connection, add)
                written.done = batch
                return result
            } catch {
                areLeft = putBack(batch)
                throw error
            }
        }
        written.tell()
        return result
    }

    /// The entries of one write, and how it ended.
    private struct Written {
        var done: [Entry] = []
        var failed: [Entry] = []
        var error: SQLiteError?

        /// Resumes the callers that wait for it.
        func tell() {
            for case .records(_, let waiter) in done { waiter.resume() }
            guard let error else { return }
            for case .records(_, let waiter) in failed { waiter.resume(throwing: error) }
        }
    }

    private func writeAndTell() throws(SQLiteError) {
        let written = writeSome()
        written.tell()
        if let error = written.error { throw error }
    }

    /// Writes one transaction of waiting entries; if it fails, its commits keep waiting.
    private func writeSome() -> Written {
        do throws(SQLiteError) {
            return try database.withConnection { connection throws(SQLiteError) in
                let batch = state.withLock { $0.take(Self.mostAtOnce) }
                return write(batch, &connection)
            }
        } catch {
            // The database is closed, and no entry was dequeued; commits keep waiting.
            let all = state.withLock { state in
                let all = state.take(.max)
                state.waiting = all.filter { !$0.hasRecords }
                return all
            }
            return Written(failed: all, error: error)
        }
    }

    private func write(_ batch: [Entry], _ connection: inout Connection) -> Written {
        do throws(SQLiteError) {
            // A handler need not wait until the disk confirms that it begins: only a loss of power could undo that. A
            // payload of an earlier process may be one whose handler cuts the power.
            let isSynced = !batch.allSatisfy { $0.isBeginning(beyond: lastOfOthers) }
            try write(batch, &connection, isSynced: isSynced) { _, _ in }
            return Written(done: batch)
        } catch {
            // A full disk may have no space for a dead letter, but enough for the other entries, which may free some.
            let large = batch.filter(hasLetter)
            if !large.isEmpty, large.count < batch.count {
                var written = write(batch.filter { !hasLetter($0) }, &connection)
                written.failed += large
                written.error = error
                return written
            }
            // Before another thread can dequeue what was queued later.
            _ = putBack(batch.filter { !$0.hasRecords })
            return Written(failed: batch, error: error)
        }
    }

    /// Queues again, in their place, the entries that a write could not include; returns whether the thread must be
    /// made to write the records among them, after the database is released.
    private func putBack(_ batch: [Entry]) -> Bool {
        state.withLock { state in
            state.waiting.insert(contentsOf: batch, at: 0)
            state.calls += batch.count(where: \.hasRecords)
            guard state.calls > 0, !state.isWriting else { return false }
            state.isWriting = true
            return true
        }
    }

    // MARK: A transaction

    private func write<Result>(
        _ batch: [Entry], _ connection: inout Connection, isSynced: Bool = true,
        _ add: (inout Connection, inout InboxChanges) throws(SQLiteError) -> Result
    ) throws(SQLiteError) -> Result {
        let (result, changes, seen) = try connection.transaction(isSynced: isSynced) { connection throws(SQLiteError) in
            var changes = InboxChanges()
            var seen: (last: QueuedCommit, rows: SeenRows)?
            for entry in batch {
                switch entry {
                case .records(let records, _):
                    for record in records { try write(record, &connection, &changes) }
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
        for id in changes.lettersOf {
            let letters = state.withLock { $0.letters.removeValue(forKey: id) } ?? []
            for (table, letter) in letters { table.hasWritten(letter) }
        }
        return result
    }

    private func write(
        _ record: InboxRecord, _ connection: inout Connection, _ changes: inout InboxChanges
    ) throws(SQLiteError) {
        guard let id = Int64(exactly: record.id) else { return }
        if case .answered = record {
            guard rows.withLock({ $0.hasAnswer(id) }) else { return }
            changes.delivered.insert(id)
            return try connection.write(record, id)
        }
        guard has(id), !changes.gone.contains(id) else { return }
        if case .answer(let answer) = record {
            let isFirst = !changes.answered.contains { $0.id == id } && !rows.withLock { $0.hasAnswer(id) }
            guard isFirst else { return }
            let size = answer.payload.size + answer.answer.jsonText.utf8.count
            changes.answered.append((id, size))
            return try connection.write(record, id)
        }
        try connection.write(record, id)
        if case .begun = record { return }
        if case .ended = record { changes.gone.insert(id) }
        guard !changes.lettersOf.contains(id) else { return }
        let letters = state.withLock { $0.letters[id] ?? [] }
        for (table, letter) in letters where table.isWaiting(letter) { try connection.write(letter) }
        if !letters.isEmpty { changes.lettersOf.insert(id) }
    }

    func has(_ id: Int64) -> Bool { rows.withLock { $0.contains(id) } }

    /// Whether a dead letter would be written with one of these records.
    private func hasLetter(_ entry: Entry) -> Bool {
        let records = entry.records
        return state.withLock { state in
            !state.letters.isEmpty && records.contains { state.letters[Int64(truncatingIfNeeded: $0.id)] != nil }
        }
    }
}
#endif
