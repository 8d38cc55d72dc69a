#if SQLite
public import KiiPush
import Synchronization

/// A deduplication store that remembers handled messages over a restart, and over a reboot.
///
/// Give the deduplicator the database's ``SQLiteDatabase/secret`` too; otherwise keys of another process mean nothing.
///
/// It answers from memory: the table of `InMemorySeenStore` is filled from the file when the store is made,
/// so only ``commit(_:now:)`` waits for the disk. Commits of several threads that wait at once share one write. Beyond
/// the guarantees of every deduplication store:
/// - When `commit` has returned, no process that opens the file later handles the message again within the window.
/// - A lease ends with its process: messages in flight are not stored, so they count as new in the next process. A
///   lease's number is never used again, by any process.
/// - Within one boot a message's age counts by the monotonic clock, also while no process runs. After a reboot the wall
///   clock counts, but no age is negative: a clock that shows 1970 makes no message older, and none is remembered for
///   longer than its window after the store was made. A clock that jumped forward makes messages expire early.
/// - For a message with a weak key the file has the time of arrival. The next process remembers it for a whole window,
///   because a copy may wait in an inbox.
/// - The file keeps as many messages as the window counts, of each strength; after the window was made smaller, each
///   commit removes 64 more. 20,000 messages with two keys each take 1.4 MB, and SQLite's log takes 4 MB more while the
///   database is open. Memory is that of the store in memory.
///
/// For a service whose payloads are in a ``SQLiteInbox``, make the store by ``init(writtenBy:window:clock:)``: then
/// `commit` does not wait for the disk either, and costs no write of its own.
public final class SQLiteSeenStore: SeenStore {
    private struct State {
        var table: SeenTable
        /// The commits that no thread writes yet, in order.
        var waiting: [SeenCommit] = []
        /// All commits that have not ended, by the number of their lease.
        var unended: [UInt64: SeenCommit] = [:]
    }

    let database: SQLiteDatabase
    private let scale: TimeScale
    private let mostAtOnce: Int
    private let file: SeenFile
    /// Writes the commits; nil when the store does that itself.
    private let inbox: SQLiteInbox?
    // Locked after the database, and never during a write.
    private let state: Mutex<State>

    /// Reads what the database remembers.
    ///
    /// - Parameters:
    ///   - database: the database, which can have one deduplication store at a time.
    ///   - window: how long and how many messages are remembered; it may differ from an earlier process's.
    ///   - clock: the receiver's clock.
    /// - Throws: ``SQLiteError`` if the file cannot be read.
    public convenience init(
        _ database: SQLiteDatabase, window: SeenWindow = .standard, clock: any ReceiverClock = SystemClock()
    ) throws(SQLiteError) {
        try self.init(database, window: window, clock: clock, mostAtOnce: 1024, inbox: nil)
    }

    /// Reads what the database of an inbox remembers; the inbox writes the commits.
    ///
    /// For a service: a payload stays in its inbox until `InboxRecord.ended(_:)` is recorded, and its message
    /// is committed before. The store then guarantees, instead of a commit that is on disk when it returns:
    /// - A commit is remembered in memory at once, and is on disk when a later record is: in the same transaction or an
    ///   earlier one. So after a crash the payload is still in the inbox, or its message is remembered, or both; when
    ///   its record has returned, it is remembered.
    /// - A commit that no record follows is written when 4,096 wait, or when the store is released. A crash, or closing
    ///   the database before, forgets it. This concerns only messages that did not come through the inbox; they are
    ///   handled again when they arrive again.
    /// - A commit throws only when 4,096 wait already and cannot be written; it blocks for a write then.
    /// - When a write fails, its commits stay in the queue and are written with the next.
    ///
    /// A commit may be on disk before a dead letter that waits for a record of its payload, see
    /// ``SQLiteDeadLetterStore/init(writtenBy:capacity:bytes:clock:)``. Record something of a dead-lettered payload
    /// before the commit of its message, as `PushService` does, or a crash in between loses the dead letter.
    ///
    /// - Parameters:
    ///   - inbox: the inbox; its database can have one deduplication store at a time.
    ///   - window: how long and how many messages are remembered; it may differ from an earlier process's.
    ///   - clock: the receiver's clock.
    /// - Throws: ``SQLiteError`` if the file cannot be read.
    public convenience init(
        writtenBy inbox: SQLiteInbox, window: SeenWindow = .standard, clock: any ReceiverClock = SystemClock()
    ) throws(SQLiteError) {
        try self.init(inbox.database, window: window, clock: clock, mostAtOnce: 1024, inbox: inbox)
    }

    /// Makes a store that writes at most this many commits in one transaction.
    init(
        _ database: SQLiteDatabase, window: SeenWindow, clock: any ReceiverClock, mostAtOnce: Int,
        inbox: SQLiteInbox? = nil
    ) throws(SQLiteError) {
        try database.claim(Self.kind)
        let scale = database.timeScale(clock)
        // No process uses four thousand million leases.
        var table = SeenTable(window, lastLease: UInt64(database.openings) << 32)
        var rows = SeenRows(window)
        do throws(SQLiteError) {
            try database.withConnection { connection throws(SQLiteError) in
                try rows.read(from: &connection, scale) { keys, time in
                    let end = keys.strength == .weak ? scale.instant : time
                    table.remember(keys, end, arrivedAt: time)
                }
            }
        } catch {
            database.disclaim(Self.kind)
            throw error
        }
        self.database = database
        self.scale = scale
        self.mostAtOnce = max(mostAtOnce, 1)
        self.inbox = inbox
        file = SeenFile(rows)
        state = Mutex(State(table: table))
    }

    private static let kind = "seen"

    deinit {
        if let inbox {
            // Commits that cannot be written are forgotten; nobody waits for an error any more.
            try? inbox.writer.flush()
            inbox.writer.dropCommits()
        }
        database.disclaim(Self.kind)
    }

    /// Looks a message up, and reserves it if it is new; from memory, so it never throws and never waits for the disk.
    public func begin(_ keys: DedupeKeys, now: MonotonicInstant) -> SeenState {
        state.withLock { $0.table.begin(keys, now) }
    }

    /// Remembers a message as handled, on disk when it returns; with an inbox, as in ``init(writtenBy:window:clock:)``.
    ///
    /// - Throws: ``SQLiteError`` if it cannot be written; the lease is still in flight then.
    public func commit(_ lease: SeenLease, now: MonotonicInstant) throws {
        if let inbox { return try queue(lease, now, inbox.writer) }
        let commit: SeenCommit? = state.withLock { state in
            guard state.table.canEnd(lease) else { return nil }
            // A second commit of the same lease, while it is being written, has the same result.
            if let first = state.unended[lease.number] { return first }
            let commit = SeenCommit(lease: lease, time: now)
            state.waiting.append(commit)
            state.unended[lease.number] = commit
            return commit
        }
        try commit.map(finish)
    }

    /// Forgets a reservation; if another thread is committing it, only after that has failed.
    public func release(_ lease: SeenLease) {
        while true {
            let commit = state.withLock { state in
                let commit = state.unended[lease.number]
                if commit == nil { state.table.release(lease) }
                return commit
            }
            guard let commit else { return }
            // The thread that commits gets the error.
            try? finish(commit)
        }
    }

    /// What the store holds now; never nil.
    ///
    /// It does not count what an earlier process forgot early.
    public var counts: SeenCounts? { state.withLock { $0.table.counts } }

    /// How many commits wait to be written.
    var waiting: Int { state.withLock { $0.waiting.count } }

    // MARK: Writing

    private func queue(_ lease: SeenLease, _ now: MonotonicInstant, _ writer: InboxWriter) throws {
        try writer.makeRoomForCommit()
        let time = scale.stored(lease.rememberedTime(now), now: database.machineTime)
        state.withLock { state in
            guard state.table.canEnd(lease) else { return }
            state.table.commit(lease, now)
            // Queued under the same lock: the rows in the file have the order of the table.
            writer.queue(QueuedCommit(file: file, keys: lease.keys, time: time, counts: state.table.counts))
        }
    }

    /// Returns when a commit has ended: another thread wrote it, or this one does.
    ///
    /// The thread that has the database writes all commits that were queued before. So the more of them wait, the fewer
    /// writes they need, and one alone waits for no other. Measured with eight threads: 16,500 commits a second, where
    /// one write for each reaches 6,200.
    private func finish(_ commit: SeenCommit) throws {
        do throws(SQLiteError) {
            try database.withConnection { connection throws(SQLiteError) in
                while !commit.hasEnded { write(&connection) }
            }
        } catch {
            // The database is closed.
            state.withLock { state in state.waiting.removeAll { $0 === commit } }
            end([commit], .failure(error))
        }
        try commit.end?.get()
    }

    private func write(_ connection: inout Connection) {
        let (batch, counts) = state.withLock { state in
            let batch = Array(state.waiting.prefix(mostAtOnce))
            state.waiting.removeFirst(batch.count)
            return (batch, state.table.counts)
        }
        let now = database.machineTime
        do throws(SQLiteError) {
            let written = try connection.transaction { connection throws(SQLiteError) in
                var written = file.rows
                for commit in batch {
                    let time = scale.stored(commit.lease.rememberedTime(commit.time), now: now)
                    try written.insert(commit.lease.keys, time, &connection)
                }
                try written.forget(allBut: counts, areNewCounted: false, &connection)
                return written
            }
            file.keep(written)
            end(batch, .success(()))
        } catch {
            end(batch, .failure(error))
        }
    }

    /// Ends commits with their result, unless they have ended already.
    private func end(_ batch: [SeenCommit], _ result: Result<Void, SQLiteError>) {
        state.withLock { state in
            for commit in batch where commit.end(result) {
                state.unended[commit.lease.number] = nil
                if case .success = result { state.table.commit(commit.lease, commit.time) }
            }
        }
    }
}

extension SeenLease {
    /// The time that the file stores for a message that ended at `end`; for one with a weak key, its arrival.
    fileprivate func rememberedTime(_ end: MonotonicInstant) -> MonotonicInstant {
        keys.strength == .weak ? arrivedAt : end
    }
}

/// A commit that is being written, and its result, for all threads that wait for it.
private final class SeenCommit: Sendable {
    let lease: SeenLease
    let time: MonotonicInstant
    private let result = Mutex<Result<Void, SQLiteError>?>(nil)

    init(lease: SeenLease, time: MonotonicInstant) {
        self.lease = lease
        self.time = time
    }

    var end: Result<Void, SQLiteError>? { result.withLock { $0 } }
    var hasEnded: Bool { end != nil }

    /// Records how it ended; false if it had ended before.
    func end(_ end: Result<Void, SQLiteError>) -> Bool {
        result.withLock { result in
            guard result == nil else { return false }
            result = end
            return true
        }
    }
}
#endif
