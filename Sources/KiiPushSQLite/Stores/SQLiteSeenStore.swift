#if SQLite
public import KiiPush
import Synchronization

/// A deduplication store that remembers handled messages over a restart, and over a reboot.
///
/// Give the deduplicator the database's ``SQLiteDatabase/secret`` too; otherwise keys of another process mean nothing.
/// It answers from memory, so only ``commit(_:now:)`` waits for the disk. Beyond the guarantees of every deduplication
/// store:
/// - When `commit` has returned, no process that opens the file later handles the message again within the window.
/// - A lease ends with its process: messages in flight are not stored, so they count as new in the next process. A
///   lease's number is never used again, by any process.
/// - Within one boot a message's age counts by the monotonic clock, also while no process runs. After a reboot the wall
///   clock counts, but no age is negative: a clock that shows 1970 makes no message older, and none is remembered for
///   longer than its window after the store was made. A clock that jumped forward makes messages expire early.
/// - For a message with a weak key the file has the time of arrival. The next process remembers it for a whole window,
///   because a copy may wait in an inbox.
/// - The file keeps as many messages as the window counts, of each strength; after the window was made smaller, each
///   commit removes 64 more. 20,000 with two keys each take 1.4 MB, and SQLite's log takes 4 MB more while the database
///   is open. Memory is that of the store in memory.
///
/// For a service whose payloads are in a ``SQLiteInbox``, make the store by ``init(writtenBy:window:clock:)``: then
/// `commit` does not wait for the disk either, and costs no write of its own.
public final class SQLiteSeenStore: SeenStore {
    let database: SQLiteDatabase
    private let claim: StoreClaim
    private let scale: TimeScale
    private let file: SeenFile
    /// Writes the commits; nil when the store does that itself.
    private let inbox: SQLiteInbox?
    // Locked after the database, and never during a write.
    private let table: Mutex<SeenTable>

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
        try self.init(database, window, clock, inbox: nil)
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
    /// The database can have one deduplication store at a time; `window` may differ from an earlier process's.
    ///
    /// - Throws: ``SQLiteError`` if the file cannot be read.
    public convenience init(
        writtenBy inbox: SQLiteInbox, window: SeenWindow = .standard, clock: any ReceiverClock = SystemClock()
    ) throws(SQLiteError) {
        try self.init(inbox.database, window, clock, inbox: inbox)
    }

    private init(
        _ database: SQLiteDatabase, _ window: SeenWindow, _ clock: any ReceiverClock, inbox: SQLiteInbox?
    ) throws(SQLiteError) {
        claim = try database.claim("seen")
        let scale = database.timeScale(clock)
        // No process uses four thousand million leases.
        var table = SeenTable(window, lastLease: UInt64(database.service.openings) << 32)
        var rows = SeenRows(window)
        try database.withConnection { connection throws(SQLiteError) in
            try rows.read(from: &connection, scale) { keys, time in
                let end = keys.strength == .weak ? scale.instant : time
                table.remember(keys, end, arrivedAt: time)
            }
        }
        self.database = database
        self.scale = scale
        self.inbox = inbox
        file = SeenFile(rows)
        self.table = Mutex(table)
    }

    deinit {
        // Commits that cannot be written are forgotten; nobody waits for an error any more.
        try? inbox?.writer.flush()
        inbox?.writer.dropCommits()
    }

    /// Looks a message up in memory, and reserves it if it is new; never throws and never waits for the disk.
    public func begin(_ keys: DedupeKeys, now: MonotonicInstant) -> SeenState {
        table.withLock { $0.begin(keys, now) }
    }

    /// Remembers a message as handled, on disk when it returns; with an inbox, as in ``init(writtenBy:window:clock:)``.
    ///
    /// - Throws: ``SQLiteError`` if it cannot be written; the lease is still in flight then.
    public func commit(_ lease: SeenLease, now: MonotonicInstant) throws {
        if let inbox { return try queue(lease, now, inbox.writer) }
        guard table.withLock({ $0.canEnd(lease) }) else { return }
        try database.withConnection { connection throws(SQLiteError) in
            // A commit of the same lease may have ended while this one waited for the database.
            guard let counts = table.withLock({ $0.canEnd(lease) ? $0.counts : nil }) else { return }
            let time = scale.stored(lease.rememberedTime(now), now: database.machineTime)
            let rows = try connection.transaction { connection throws(SQLiteError) in
                var rows = file.rows
                try rows.insert(lease.keys, time, &connection)
                try rows.forget(allBut: counts, areNewCounted: false, &connection)
                return rows
            }
            file.keep(rows)
            table.withLock { $0.commit(lease, now) }
        }
    }

    /// Forgets a reservation; if another thread is committing it, only after that has failed.
    public func release(_ lease: SeenLease) {
        guard inbox == nil else { return table.withLock { $0.release(lease) } }
        database.whileNobodyWrites { table.withLock { $0.release(lease) } }
    }

    /// What the store holds now, without what an earlier process forgot early; never nil.
    public var counts: SeenCounts? { table.withLock { $0.counts } }

    private func queue(_ lease: SeenLease, _ now: MonotonicInstant, _ writer: InboxWriter) throws {
        try writer.makeRoomForCommit()
        let time = scale.stored(lease.rememberedTime(now), now: database.machineTime)
        table.withLock { table in
            guard table.canEnd(lease) else { return }
            table.commit(lease, now)
            // Queued under the same lock: the rows in the file have the order of the table.
            writer.queue(QueuedCommit(file: file, keys: lease.keys, time: time, counts: table.counts))
        }
    }
}

extension SeenLease {
    /// The time that the file stores for a message that ended at `end`; for one with a weak key, its arrival.
    fileprivate func rememberedTime(_ end: MonotonicInstant) -> MonotonicInstant {
        keys.strength == .weak ? arrivedAt : end
    }
}
#endif
