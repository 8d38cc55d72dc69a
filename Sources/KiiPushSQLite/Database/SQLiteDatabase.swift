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
/// A file that is damaged, and one that is empty or missing where a database was, is refused too, unless the database
/// is opened by ``init(healing:)``. That there was one, `kiipush.db.made` beside it says.
///
/// Where it is found out only later, every call fails from then on, so that nothing is confirmed that may not be kept,
/// and the file is not written to any more: ``onDamage(_:)`` tells of it; close the database then, and open it again
/// with ``init(healing:)``, best in another process.
public final class SQLiteDatabase: Sendable {
    /// The file's name in its directory.
    package static let fileName = "kiipush.db"

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
        var listeners = Listeners<SQLiteError>()
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
    /// From then on every call of a store fails with the same error. Several listeners, up to 64, are called one after
    /// the other, by the thread that found the damage; keep them short.
    ///
    /// - Parameter listener: called once, with what is wrong.
    /// - Returns: a token to remove the listener with; drop it to keep the listener.
    @discardableResult
    public func onDamage(_ listener: @escaping @Sendable (SQLiteError) -> Void) -> ListenerToken {
        let (number, error) = damage.withLock { damage in (damage.listeners.add(listener), damage.error) }
        if let error { listener(error) }
        return ListenerToken { [weak self] in self?.damage.withLock { $0.listeners.remove(number) } }
    }

    private func tellOfDamage(_ error: SQLiteError) {
        let listener: (@Sendable (SQLiteError) -> Void)? = damage.withLock { damage in
            guard damage.error == nil else { return nil }
            damage.error = error
            return damage.listeners.call
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
#endif
