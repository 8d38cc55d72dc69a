#if SQLite
public import KiiPush
import KiiPushSystem
import Synchronization

/// One database file in a state directory, for stores that survive a restart.
///
/// ```swift
/// let database = try SQLiteDatabase(directory: directory)
/// let seen = try SQLiteSeenStore(database)
/// let letters = try SQLiteDeadLetterStore(database)
/// let receiver = PushReceiver(deadLetters: letters) {
///     Deduplicator(store: seen, secret: database.secret)
///     LoopGuard()
/// }
/// ```
///
/// Open one for each service at its start, and keep it until its end: it locks `kiipush.db.lock` beside the file, so
/// opening the same directory again, from this or another process, fails after two seconds.
///
/// A write that has returned survives the process's end, however it ends, and a loss of power, if the disk keeps what
/// it confirms: the file uses SQLite's WAL mode with `synchronous=FULL`. Only the beginning of an attempt need not
/// survive a loss of power; see ``SQLiteInbox``. On a file system without support for WAL, opening fails. Opening also
/// reads the whole file to check it: 2 MB for 20,000 messages.
///
/// The directory is created with mode 0700 and the file with 0600. A file that others may read or write is refused, not
/// repaired: its secret may be known, and its contents may be forged.
///
/// A damaged file is refused too, and an empty or missing one where a database existed, as `kiipush.db.made` beside it
/// records, unless it is opened with ``init(healing:)``. If damage is found later, every call fails from then on, and
/// the file is not written any more. ``onDamage(_:)`` reports it; then close the database and open it again with
/// ``init(healing:)``, preferably in another process.
public final class SQLiteDatabase: Sendable {
    package static let fileName = "kiipush.db"

    /// The file's path.
    public let path: String

    /// The secret of this database's deduplication keys; generated once from the system's entropy, and stored in the
    /// file.
    public let secret: DedupeSecret

    let service: DatabaseService

    /// The last healing, at this opening or an earlier one, as long as the old file exists; nil for none.
    public let healing: DatabaseHealing?

    private let machine: @Sendable () -> MachineTime
    private let spare: SpareFile
    private let state: Mutex<OpenDatabase?>
    private let damage = Mutex(Damage())

    /// The damage of the open files, and its listeners.
    private struct Damage {
        var error: SQLiteError?
        var listeners = Listeners<SQLiteError>()
    }

    /// Opens the database of a state directory, and creates both if missing.
    ///
    /// - Parameter directory: the path of a directory that only its owner may write to.
    /// - Throws: why it cannot be opened; the database is unchanged.
    public convenience init(directory: String) throws(SQLiteError) {
        try self.init(directory: directory, machine: MachineTime.now)
    }

    /// Opens the database of a state directory; if it is damaged, sets it aside and starts a new one.
    ///
    /// A database that is unreadable, empty or missing is then kept beside the new one, as `kiipush.db.damaged-` with
    /// the date; the three newest are kept. Its readable contents are copied: messages that have not ended, dead
    /// letters, deduplication entries. ``healing`` describes the result; report it to somebody. A process that is
    /// killed while it heals loses nothing: the next one resumes.
    ///
    /// A locked file, or one of a newer release, another program or another user, is not damaged: it is refused, and
    /// stays unchanged.
    ///
    /// - Throws: why it cannot be opened; the old contents still exist, under one name or the other.
    public convenience init(healing directory: String) throws(SQLiteError) {
        try self.init(directory: directory, heals: true, machine: MachineTime.now)
    }

    init(
        directory: String, heals: Bool = false, machine: @escaping @Sendable () -> MachineTime,
        step: @escaping (HealingStep) -> Void = { _ in },
        free: @escaping @Sendable (String) -> Int64? = DiskReserve.freeBytes
    ) throws(SQLiteError) {
        path = directory.hasSuffix("/") ? "\(directory)\(Self.fileName)" : "\(directory)/\(Self.fileName)"
        guard !path.utf8.contains(0) else { throw .notAFile(path: path) }
        self.machine = machine
        spare = SpareFile(database: path, free: free)
        let lock = try DatabaseFile.prepare(path, directory: directory)
        do throws(SQLiteError) {
            spare.giveBack()
            guard spare.hasRoomForIndex else { throw .full(path: path) }
            let marker = try DatabaseMarker.read(path)
            let healer = heals ? DatabaseHealer(path: path, wall: machine().wall, step: step) : nil
            let database = try OpenDatabase.open(path, machine(), lock, marker, healer)
            service = database.service
            secret = service.secret
            healing = database.healing
            state = Mutex(database)
            // Payloads need the last room more.
            spare.make(ifFree: 8 * SpareFile.size)
        } catch {
            lock.unlock()
            throw error
        }
    }

    deinit { close() }

    /// Closes the file so that others can open it, as releasing the last reference does; every later call of a store
    /// throws.
    public func close() {
        state.withLock { state in
            guard let lock = state?.lock else { return }
            state = nil
            spare.make(ifFree: 0)
            lock.unlock()
        }
    }

    /// Calls `listener` once when a call finds the open database damaged, or its files removed or emptied; at once if
    /// that has already happened.
    ///
    /// From then on every call of a store fails with the same error. Up to 64 listeners are called in sequence, by the
    /// thread that found the damage; keep them short.
    ///
    /// - Returns: a token to remove the listener; drop it to keep the listener.
    @discardableResult
    public func onDamage(_ listener: @escaping @Sendable (SQLiteError) -> Void) -> ListenerToken {
        let (token, error) = damage.withLock { damage in (damage.listeners.add(listener), damage.error) }
        if let error { listener(error) }
        return token
    }

    private func tellOfDamage(_ error: SQLiteError) {
        let listeners: Listeners<SQLiteError>? = damage.withLock { damage in
            guard damage.error == nil else { return nil }
            damage.error = error
            // Those that are added from now on are called at once.
            defer { damage.listeners = Listeners() }
            return damage.listeners
        }
        listeners?.call(error)
    }

    // MARK: For the stores

    /// Runs `body` in a transaction; on disk when the call returns.
    func transaction<Result: Sendable>(
        _ body: (inout Connection) throws(SQLiteError) -> Result
    ) throws(SQLiteError) -> Result {
        try withConnection { connection throws(SQLiteError) in try connection.transaction(body) }
    }

    /// Calls `body` with exclusive use of the connection.
    func withConnection<Result: Sendable>(
        _ body: (inout Connection) throws(SQLiteError) -> Result
    ) throws(SQLiteError) -> Result {
        var found: SQLiteError?
        // After the database is released.
        defer { if let found { tellOfDamage(found) } }
        let result = try state.withLock { state throws(SQLiteError) in
            defer { found = state?.damage }
            return try state?.with(body)
        }
        guard let result else { throw .closed(path: path) }
        return result
    }

    /// Calls `body` while nobody uses the connection, even if the database is closed.
    func whileNobodyWrites(_ body: () -> Void) { state.withLock { _ in body() } }

    /// Records that a store of a kind exists, until the claim is released.
    ///
    /// - Throws: if there is one already: a second one would not see the first one's state in memory.
    func claim(_ kind: String) throws(SQLiteError) -> StoreClaim {
        let isNew = state.withLock { state in state?.stores.insert(kind).inserted }
        guard let isNew else { throw .closed(path: path) }
        guard isNew else { throw .storeInUse(path: path, kind: kind) }
        return StoreClaim(database: self, kind: kind)
    }

    fileprivate func disclaim(_ kind: String) { state.withLock { state in _ = state?.stores.remove(kind) } }

    var machineTime: MachineTime { machine() }

    func timeScale(_ clock: any ReceiverClock) -> TimeScale {
        TimeScale(boot: service.boot, instant: clock.now, machine: machine(), latest: service.latest)
    }
}

/// Lets a database have no other store of a kind.
final class StoreClaim: Sendable {
    private let database: SQLiteDatabase
    private let kind: String

    fileprivate init(database: SQLiteDatabase, kind: String) {
        self.database = database
        self.kind = kind
    }

    deinit { database.disclaim(kind) }
}
#endif
