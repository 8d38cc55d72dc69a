#if SQLite
public import KiiPush
import KiiPushLinux
import Synchronization

/// One database file in a state directory, for the stores that survive a restart.
///
/// ```swift
/// let database = try SQLiteDatabase(directory: directory)
/// let seen = try SQLiteSeenStore(database)
/// let letters = try SQLiteDeadLetterStore(database)
/// let breakers = try SQLiteBreakerStore(database)
/// let receiver = PushReceiver(deadLetters: letters) {
///     Deduplicator(store: seen, secret: database.secret)
///     LoopGuard(breakers: breakers)
/// }
/// ```
///
/// Open one for each service, when it starts, and keep it until it ends: it has a lock on `kiipush.db.lock` beside the
/// file, so that a second process that opens the same directory is refused after two seconds, and so is the same
/// process.
///
/// What a call has written when it returns survives the process's end, however that comes, and a loss of power, if the
/// disk keeps what it confirms: the file is in SQLite's WAL mode with `synchronous=FULL`, which is read back. Where a
/// file system cannot do that, opening fails. Opening also reads the whole file to see that it is sound: 2 MB for
/// 20,000 messages.
///
/// The directory is made with mode 0700 and the file with 0600. A file that others may read or write is refused, not
/// repaired: the secret in it may be known, and what it remembers may be forged.
///
/// A file that is damaged, and one that is empty or gone where a database was, is refused too, unless the database is
/// opened by ``init(healing:)``. That there was one, `kiipush.db.made` beside it says.
///
/// Where it is found out only later, every call fails from then on, so that nothing is confirmed that may not be kept,
/// and the file is not written to any more: ``onDamage(_:)`` tells of it; close the database then, and open it again
/// with ``init(healing:)``, best in another process.
public final class SQLiteDatabase: Sendable {
    /// The file's name in its directory.
    public static let fileName = "kiipush.db"

    /// The file's path.
    public let path: String

    /// What the dedupe keys of this database are made with; made once from the system's entropy, and kept in the file.
    public let secret: DedupeSecret

    /// How often the file was opened, this time included.
    let openings: Int64

    /// The last healing, at this opening or an earlier one, for as long as the old file lies there; nil for none.
    public let healing: DatabaseHealing?

    /// The boot that this process runs in, by its number in the table of boots.
    private let boot: Int64
    private let latest: [Int64: StoredTime]
    private let machine: @Sendable () -> MachineTime
    private let state: Mutex<OpenDatabase?>
    private let damage = Mutex(Damage())

    /// What was found wrong with the open files, and who is to be told.
    private struct Damage {
        var error: SQLiteError?
        var listener: (@Sendable (SQLiteError) -> Void)?
    }

    /// Opens the database of a state directory, and makes what is missing of both.
    ///
    /// - Parameter directory: the path of a directory that only its owner may write to.
    /// - Throws: why it is not open; the database is as it was.
    public convenience init(directory: String) throws(SQLiteError) {
        try self.init(directory: directory, machine: MachineTime.now)
    }

    /// Opens the database of a state directory, and where it is damaged puts it aside and begins a new one.
    ///
    /// What cannot be read, is empty or gone lies then beside the new one, as `kiipush.db.damaged-` with the date; the
    /// three newest are kept. What can be read of it is copied: messages that have not ended, dead letters, what is
    /// known to be done. ``healing`` says what was saved; tell somebody. A process that is killed while it heals loses
    /// nothing: the next one goes on.
    ///
    /// A file of a newer release, of another program, of another user, or one that is locked is not damaged: it is
    /// refused, and left as it is.
    ///
    /// - Parameter directory: the path of a directory that only its owner may write to.
    /// - Throws: why it is not open; what was there is there still, under one name or the other.
    public convenience init(healing directory: String) throws(SQLiteError) {
        try self.init(directory: directory, heals: true, machine: MachineTime.now)
    }

    init(
        directory: String, heals: Bool = false, machine: @escaping @Sendable () -> MachineTime,
        step: @escaping (HealingStep) -> Void = { _ in }
    ) throws(SQLiteError) {
        path = directory.hasSuffix("/") ? "\(directory)\(Self.fileName)" : "\(directory)/\(Self.fileName)"
        guard !path.utf8.contains(0) else { throw .notAFile(path: path) }
        self.machine = machine
        let lock = try DatabaseFile.prepare(path, directory: directory)
        do throws(SQLiteError) {
            let marker = try DatabaseMarker.read(path)
            let healer = heals ? DatabaseHealer(path: path, wall: machine().wall, step: step) : nil
            let database = try OpenDatabase.open(path, machine(), lock, marker, healer)
            let service = database.service
            (secret, openings, boot) = (service.secret, service.openings, service.boot)
            latest = service.latest
            healing = database.healing
            state = Mutex(database)
        } catch {
            lock.unlock()
            throw error
        }
    }

    deinit { close() }

    /// Closes the file and lets others open it; every later call of a store throws.
    ///
    /// Not needed at a service's end, where the last reference does it, or the process's end.
    public func close() {
        state.withLock { state in
            guard let lock = state?.lock else { return }
            state = nil
            lock.unlock()
        }
    }

    /// Calls `listener` once when a call finds the open database damaged, or its files removed or emptied; at once if
    /// one did already.
    ///
    /// From then on every call of a store fails with the same error. It is called by the thread that found out; keep it
    /// short.
    ///
    /// - Parameter listener: is given what is wrong, in place of an earlier listener.
    public func onDamage(_ listener: @escaping @Sendable (SQLiteError) -> Void) {
        let error = damage.withLock { damage in
            damage.listener = listener
            return damage.error
        }
        if let error { listener(error) }
    }

    private func tellOfDamage(_ error: SQLiteError) {
        let listener: (@Sendable (SQLiteError) -> Void)? = damage.withLock { damage in
            guard damage.error == nil else { return nil }
            damage.error = error
            return damage.listener
        }
        listener?(error)
    }

    // MARK: For the stores

    /// Does all that `body` does, or nothing of it; on disk when the call returns.
    func transaction<Result: Sendable>(
        _ body: (inout Connection) throws(SQLiteError) -> Result
    ) throws(SQLiteError) -> Result {
        try withConnection { connection throws(SQLiteError) in try connection.transaction(body) }
    }

    /// Calls `body` with the connection, while no other thread has it.
    func withConnection<Result: Sendable>(
        _ body: (inout Connection) throws(SQLiteError) -> Result
    ) throws(SQLiteError) -> Result {
        var found: SQLiteError?
        // With the database let go of.
        defer { if let found { tellOfDamage(found) } }
        let result = try state.withLock { state throws(SQLiteError) in
            defer { found = state?.damage }
            return try state?.with(body)
        }
        guard let result else { throw .closed(path: path) }
        return result
    }

    /// Notes that there is a store of a kind, which keeps in memory what a second one would not know.
    func claim(_ kind: String) throws(SQLiteError) {
        let isNew = state.withLock { state in state?.stores.insert(kind).inserted }
        guard let isNew else { throw .closed(path: path) }
        guard isNew else { throw .storeInUse(path: path, kind: kind) }
    }

    func disclaim(_ kind: String) { state.withLock { state in _ = state?.stores.remove(kind) } }

    /// What the machine's clocks say now.
    var machineTime: MachineTime { machine() }

    /// A scale for a receiver's clock.
    func timeScale(_ clock: any ReceiverClock) -> TimeScale {
        TimeScale(boot: boot, instant: clock.now, machine: machine(), latest: latest)
    }
}

private struct OpenDatabase: ~Copyable {
    var connection: Connection
    let lock: FileLock
    let service: DatabaseService
    let healing: DatabaseHealing?
    var stores: Set<String> = []
    /// What is wrong with the file, once that was found out.
    private(set) var damage: SQLiteError?
    private let files: OpenFiles

    private init(
        _ connection: consuming Connection, _ lock: FileLock, _ service: DatabaseService, _ healing: DatabaseHealing?
    ) {
        self.connection = connection
        self.lock = lock
        self.service = service
        self.healing = healing
        files = OpenFiles(self.connection.path)
    }

    private static func open(
        _ path: String, _ machine: MachineTime, _ lock: FileLock, healing: DatabaseHealing?, isChecked: Bool
    ) throws(SQLiteError) -> OpenDatabase {
        var connection = try Connection(path: path)
        let service = try connection.open(path, machine)
        if isChecked { try connection.checkNumbers() }
        return OpenDatabase(connection, lock, service, healing)
    }

    /// Opens a file that is there, and heals it if it is damaged and there is a healer.
    static func open(
        _ path: String, _ machine: MachineTime, _ lock: FileLock, _ marker: DatabaseMarker?, _ healer: DatabaseHealer?
    ) throws(SQLiteError) -> OpenDatabase {
        if let healing = try healer?.resume(marker) {
            return try open(path, machine, lock, healing: healing, isChecked: false)
        }
        var earlier: DatabaseHealing?
        if case .healed(let healing) = marker, DatabaseHealer.isThere(healing.damagedPath) { earlier = healing }
        do throws(SQLiteError) {
            // Opened now, it would be made anew, and nobody would ever know.
            if DatabaseHealer.isEmptied(path, marker) { throw .emptied(path: path) }
            let database = try open(path, machine, lock, healing: earlier, isChecked: healer != nil)
            // Without room for it an empty file is a new one, as it would be without a marker at all.
            if marker == nil { try? DatabaseMarker.made.write(path) }
            return database
        } catch {
            guard let healer, let cause = DatabaseHealing.Cause(error) else { throw error }
            let healing = try healer.heal(cause)
            return try open(path, machine, lock, healing: healing, isChecked: false)
        }
    }

    mutating func with<Result>(
        _ body: (inout Connection) throws(SQLiteError) -> Result
    ) throws(SQLiteError) -> Result {
        if let damage { throw damage }
        guard files.areThere else { throw found(.emptied(path: connection.path)) }
        defer { if connection.isDamaged { _ = found(.corrupt(path: connection.path)) } }
        return try body(&connection)
    }

    /// Takes down what is wrong with the file, which is not to be written to any more, not even when it is closed.
    private mutating func found(_ error: SQLiteError) -> SQLiteError {
        damage = error
        connection.keepLog(true)
        return error
    }
}

extension DatabaseHealing.Cause {
    /// What there is to be healed; nil for an error that is no damage.
    fileprivate init?(_ error: SQLiteError) {
        switch error {
        case .corrupt: self = .damaged
        case .emptied: self = .emptied
        default: return nil
        }
    }
}

/// What a database knows of itself.
private struct DatabaseService {
    let secret: DedupeSecret
    let openings: Int64
    let boot: Int64
    /// Of each earlier boot the latest time of a message.
    let latest: [Int64: StoredTime]
}

extension Connection {
    /// Makes sure that there is nothing that a store would refuse later.
    fileprivate mutating func checkNumbers() throws(SQLiteError) {
        let wrong = try number(
            """
            SELECT (SELECT count(*) FROM inbox WHERE id < 1
                    OR id > (SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'inbox'))
                + (SELECT count(*) FROM seen WHERE number >= ?)
            """, .integer(.max / 2))
        guard wrong == 0 else { throw .corrupt(path: path) }
    }

    /// Sets the connection up, and makes sure that the file is sound, ours, and of the newest version.
    fileprivate mutating func open(_ path: String, _ machine: MachineTime) throws(SQLiteError) -> DatabaseService {
        // Neither views nor triggers of a forged file may call functions.
        try script("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA foreign_keys = ON")
        // Of another program's file not even the mode is changed, and a newer release's may be sound in its own way.
        try Schema.check(&self, path: path)
        guard try text("PRAGMA quick_check(1)") == "ok" else { throw .corrupt(path: path) }
        keepLog(false)
        guard try text("PRAGMA journal_mode = WAL") == "wal" else { throw .notDurable(path: path, setting: "WAL") }
        // What the log has taken it keeps, and a small disk would be full of it: the database could not grow any more.
        let pages = DatabaseFile.logPages(beside: path)
        try script(
            """
            PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = \(pages); PRAGMA journal_size_limit = \(8192 * pages)
            """)
        guard try number("PRAGMA synchronous") == 2 else {
            throw .notDurable(path: path, setting: "synchronous=FULL")
        }
        guard try number("PRAGMA foreign_keys") == 1 else { throw .notDurable(path: path, setting: "foreign_keys") }
        try Schema.migrate(&self)
        return try transaction { connection throws(SQLiteError) in try connection.start(machine) }
    }

    private mutating func start(_ machine: MachineTime) throws(SQLiteError) -> DatabaseService {
        var random = SystemRandomNumberGenerator()
        try run(
            "INSERT INTO service VALUES (1, ?, ?, 1) ON CONFLICT (id) DO UPDATE SET opened = opened + 1",
            .integer(Int64(bitPattern: random.next())), .integer(Int64(bitPattern: random.next())))
        var secret = DedupeSecret(0, 0)
        var openings: Int64 = 0
        try each("SELECT secretFirst, secretSecond, opened FROM service") { row in
            secret = DedupeSecret(UInt64(bitPattern: row.integer(0)), UInt64(bitPattern: row.integer(1)))
            openings = row.integer(2)
        }
        let boot = try boot(machine.boot)
        return DatabaseService(secret: secret, openings: openings, boot: boot, latest: try latestTimes(otherThan: boot))
    }

    /// Of each other boot the latest time of a message: those of one boot are told by how long before it they came.
    private mutating func latestTimes(otherThan boot: Int64) throws(SQLiteError) -> [Int64: StoredTime] {
        var latest: [Int64: StoredTime] = [:]
        // Beside max() SQLite gives the other columns of the row that has it.
        try each(
            """
            SELECT boot, max(monotonic), wall
                FROM (SELECT boot, monotonic, wall FROM seen UNION ALL SELECT boot, monotonic, wall FROM inbox)
                WHERE boot <> ? GROUP BY boot
            """, [.integer(boot)]
        ) { row in
            latest[row.integer(0)] = StoredTime(
                boot: row.integer(0), monotonic: row.integer(1), wall: row.integer(2))
        }
        return latest
    }

    /// The number of a boot; those that nothing tells of any more are forgotten.
    private mutating func boot(_ id: String) throws(SQLiteError) -> Int64 {
        try run(
            """
            DELETE FROM boots WHERE id <> ? AND number NOT IN (SELECT boot FROM seen)
                AND number NOT IN (SELECT boot FROM deadLetters)
                AND number NOT IN (SELECT firstBoot FROM deadLetters WHERE firstBoot IS NOT NULL)
                AND number NOT IN (SELECT boot FROM inbox)
                AND number NOT IN (SELECT boot FROM breakers)
            """, .text(id))
        // Of a boot that nobody knows, each process is one of its own.
        if id.isEmpty { try run("UPDATE boots SET id = 'unknown ' || number WHERE id = ''") }
        try run("INSERT INTO boots (id) VALUES (?) ON CONFLICT DO NOTHING", .text(id))
        return try number("SELECT number FROM boots WHERE id = ?", .text(id)) ?? 0
    }
}
#endif
