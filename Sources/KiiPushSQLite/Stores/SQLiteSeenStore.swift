#if SQLite
public import KiiPush
import Synchronization

/// A deduplication store that remembers handled messages over a restart, and over a reboot.
///
/// Give the deduplicator the database's ``SQLiteDatabase/secret`` too, or keys of another process mean nothing.
///
/// It answers from memory: the table of ``KiiPush/InMemorySeenStore`` is filled from the file when the store is made,
/// so only ``commit(_:now:)`` waits for the disk. Commits of several threads that wait at once share one write. Beyond
/// the guarantees of every deduplication store:
/// - When `commit` has returned, no process that opens the file later handles the message again within the window.
/// - A lease ends with its process: nothing in flight is written, so what was in flight counts as new for the next.
///   Its number is never used again, by no process.
/// - Within one boot a message's age goes by the monotonic clock, while nothing runs too. After a reboot the wall clock
///   counts, but no age is negative: a clock that stands at 1970 makes no message older, and none is remembered for
///   longer than its window after the store was made. A clock that jumped forward makes messages too old early.
/// - Of a message with a weak key the file has the arrival. The next process remembers it for its window anew, since a
///   copy of it may wait in an inbox.
/// - The file keeps as many messages as the window counts, of each strength; when the window was made smaller, 64 more
///   a commit are taken out. 20,000 messages with two keys each take 1.4 MB, and SQLite's log beside it 4 MB while the
///   database is open. Memory is that of the store in memory.
///
/// For a service whose payloads lie in a ``SQLiteInbox``, make the store by ``init(writtenBy:window:clock:)``: then
/// `commit` does not wait for the disk either, and costs no write of its own.
public final class SQLiteSeenStore: SeenStore {
    private struct State {
        var table: SeenTable
        /// The commits that no thread writes yet, in their order.
        var waiting: [SeenCommit] = []
        /// All that have not ended, by the number of their lease.
        var unended: [UInt64: SeenCommit] = [:]
    }

    let database: SQLiteDatabase
    private let scale: TimeScale
    private let mostAtOnce: Int
    private let file: SeenFile
    /// What writes the commits; nil when the store does that itself.
    private let inbox: SQLiteInbox?
    // Taken after the database's lock, and never held while anything is written.
    private let state: Mutex<State>

    /// Reads what the database remembers.
    ///
    /// - Parameters:
    ///   - database: the database, which can have one deduplication store at a time.
    ///   - window: how long and how many messages are remembered; it may differ from an earlier process's.
    ///   - clock: the receiver's clock.
    /// - Throws: ``SQLiteError``, when the file cannot be read.
    public convenience init(
        _ database: SQLiteDatabase, window: SeenWindow = .standard, clock: any ReceiverClock = SystemClock()
    ) throws(SQLiteError) {
        try self.init(database, window: window, clock: clock, mostAtOnce: 1024, inbox: nil)
    }

    /// Reads what the database of an inbox remembers, and leaves the writing to that inbox.
    ///
    /// For a service: a payload stays in its inbox until ``KiiPush/InboxRecord/ended(_:)`` is recorded, and its message
    /// is committed before. The store then guarantees, instead of a commit that is on disk when it returns:
    /// - A commit is remembered in memory at once, and on disk when a note that came after it is: in the same
    ///   transaction or an earlier one. So after a crash either the payload is still in the inbox, or its message is
    ///   remembered, or both; when its note has returned it is remembered.
    /// - A commit that no record follows is written when 4,096 wait, or when the store is let go. A crash, or closing
    ///   the database before, forgets it: so it is for a message that did not come through the inbox, which then is
    ///   handled again when it comes again.
    /// - A commit throws only when 4,096 wait already and cannot be written; it blocks for a write then.
    /// - When a write fails, its commits stay in the queue, and go with the next.
    ///
    /// - Parameters:
    ///   - inbox: the inbox; its database can have one deduplication store at a time.
    ///   - window: how long and how many messages are remembered; it may differ from an earlier process's.
    ///   - clock: the receiver's clock.
    /// - Throws: ``SQLiteError``, when the file cannot be read.
    public convenience init(
        writtenBy inbox: SQLiteInbox, window: SeenWindow = .standard, clock: any ReceiverClock = SystemClock()
    ) throws(SQLiteError) {
        try self.init(inbox.database, window: window, clock: clock, mostAtOnce: 1024, inbox: inbox)
    }

    /// Makes a store that writes at most so many commits in one transaction.
    init(
        _ database: SQLiteDatabase, window: SeenWindow, clock: any ReceiverClock, mostAtOnce: Int,
        inbox: SQLiteInbox? = nil
    ) throws(SQLiteError) {
        try database.claim(Self.kind)
        let scale = database.timeScale(clock)
        // No opening of the file gives out four thousand million leases.
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
            // What cannot be written is forgotten; nobody is left to be told.
            try? inbox.writer.flush()
            inbox.writer.dropCommits()
        }
        database.disclaim(Self.kind)
    }

    /// Asks for a message and reserves it if it is new; from memory, so it never throws and never waits for the disk.
    public func begin(_ keys: DedupeKeys, now: MonotonicInstant) -> SeenState {
        state.withLock { $0.table.begin(keys, now) }
    }

    /// Remembers a message as handled, on disk when it returns; with an inbox, as ``init(writtenBy:window:clock:)``
    /// says.
    ///
    /// - Throws: ``SQLiteError``, when it cannot be written; the lease is still in flight then.
    public func commit(_ lease: SeenLease, now: MonotonicInstant) throws {
        if let inbox { return try queue(lease, now, inbox.writer) }
        let commit: SeenCommit? = state.withLock { state in
            guard state.table.canEnd(lease) else { return nil }
            // Whoever tells of an end for a second time, while it is being written, has the same answer.
            if let first = state.unended[lease.number] { return first }
            let commit = SeenCommit(lease: lease, time: now)
            state.waiting.append(commit)
            state.unended[lease.number] = commit
            return commit
        }
        try commit.map(finish)
    }

    /// Forgets a reservation; of a message that another thread just commits, when that has failed.
    public func release(_ lease: SeenLease) {
        while true {
            let commit = state.withLock { state in
                let commit = state.unended[lease.number]
                if commit == nil { state.table.release(lease) }
                return commit
            }
            guard let commit else { return }
            // Why it failed is told to whoever commits.
            try? finish(commit)
        }
    }

    /// Whether a lease has neither been confirmed nor undone; one that is being written has not.
    public func isInFlight(_ lease: SeenLease) -> Bool { state.withLock { $0.table.isInFlight(lease) } }

    /// What the store holds now; never nil.
    ///
    /// What an earlier process forgot early is not counted.
    public var counts: SeenCounts? { state.withLock { $0.table.counts } }

    /// How many commits wait for a thread that writes them.
    var waiting: Int { state.withLock { $0.waiting.count } }

    // MARK: Writing

    private func queue(_ lease: SeenLease, _ now: MonotonicInstant, _ writer: InboxWriter) throws {
        try writer.makeRoomForCommit()
        let time = scale.stored(lease.rememberedTime(now), now: database.machineTime)
        state.withLock { state in
            guard state.table.canEnd(lease) else { return }
            state.table.commit(lease, now)
            // Queued under the same lock: rows are to lie in the file in the order of the table.
            writer.queue(QueuedCommit(file: file, keys: lease.keys, time: time, counts: state.table.counts))
        }
    }

    /// Returns when a commit has ended: another thread has written it, or this one does.
    ///
    /// The thread that has the database writes for all that came before it got it. So the more of them wait, the fewer
    /// writes they need, and one alone waits for nobody. Measured with eight threads: 16,500 commits a second, where a
    /// write for each makes 6,200.
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

    /// Lets commits end, with what became of them, unless they have ended already.
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
    /// The time that the file has of a message that ended at `end`: of one with a weak key, when it arrived.
    fileprivate func rememberedTime(_ end: MonotonicInstant) -> MonotonicInstant {
        keys.strength == .weak ? arrivedAt : end
    }
}

/// A commit on its way to the disk, and what became of it, for all threads that wait for it.
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

    /// Notes how it ended; false if it had ended before.
    func end(_ end: Result<Void, SQLiteError>) -> Bool {
        result.withLock { result in
            guard result == nil else { return false }
            result = end
            return true
        }
    }
}
#endif
