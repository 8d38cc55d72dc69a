import Glibc
import KiiPush
import KiiPushDelivery
import KiiPushRules
import KiiPushLinux
import KiiPushSQLite

/// A state directory that this process has to itself: the stores in it, and what else outlives the process.
final class AgentState: Sendable {
    /// Who has a directory.
    enum Opening {
        case opened(AgentState)
        /// An agent runs on it, and answers here.
        case taken(ControlSocket)
    }

    let directory: String
    private let lock: FileLock
    /// Nil where the directory was there before.
    private let firstStart: FirstStart?
    #if SQLite
    let database: SQLiteDatabase
    #endif

    /// Opens a directory, and makes it where it is missing, unless an agent has it.
    ///
    /// - Parameters:
    ///   - directory: the state directory.
    ///   - patience: how long to wait for it. Of an agent that was killed a program may have the lock still, one that
    ///     was just being started; it lets go of it a moment later.
    ///   - heals: whether a database that is damaged is put aside, and what can be read of it saved. An agent does so,
    ///     which can tell; a command would hide it.
    /// - Returns: the directory, or who has it.
    /// - Throws: why it cannot be opened.
    static func open(_ directory: String, patience: Duration = .zero, heals: Bool = false) throws -> Opening {
        let firstStart = FirstStart(directory)
        do throws(ErrorNumber) { try StateDirectory.make(directory) } catch {
            throw StateError(path: directory, what: "cannot be made: \(error)")
        }
        let path = lockPath(directory)
        let lock: FileLock
        do throws(ErrorNumber) { lock = try FileLock(path, limit: patience) } catch {
            if error.rawValue == EWOULDBLOCK { return .taken(ControlSocket(state: directory)) }
            firstStart?.undo()
            throw StateError(path: path, what: "cannot be locked: \(error)")
        }
        do { return .opened(try AgentState(directory, lock, heals: heals, firstStart)) } catch {
            firstStart?.undo()
            lock.unlock()
            throw error
        }
    }

    /// Whether somebody has a directory, an agent or for a moment a command; makes nothing.
    static func isTaken(_ directory: String) -> Bool {
        let path = lockPath(directory)
        guard unsafe access(path, F_OK) == 0 else { return false }
        do throws(ErrorNumber) {
            try FileLock(path, limit: .zero).unlock()
            return false
        } catch { return error.rawValue == EWOULDBLOCK }
    }

    /// The file whose lock says that somebody has the directory.
    private static func lockPath(_ directory: String) -> String { "\(directory)/agent.lock" }

    private init(_ directory: String, _ lock: FileLock, heals: Bool, _ firstStart: FirstStart?) throws {
        self.directory = directory
        self.firstStart = firstStart
        self.lock = lock
        #if SQLite
        database = try heals ? SQLiteDatabase(healing: directory) : SQLiteDatabase(directory: directory)
        #endif
    }

    deinit { lock.unlock() }

    /// Closes the stores, as at a clean end.
    func close() {
        #if SQLite
        database.close()
        #endif
    }

    /// Closes the stores, and takes the directory away again where it was not there before: for a start that failed
    /// before anything came.
    func leaveNothing() {
        close()
        firstStart?.undo()
    }

    /// The last healing of the database while its old file lies there: what to say of it, and whether that is new.
    var healing: (text: String, isNew: Bool)? {
        #if SQLite
        database.healing.map { ($0.description, $0.isNew) }
        #else
        nil
        #endif
    }

    /// Calls `action` once when the open state is found damaged or gone; nothing is stored from then on.
    func onDamage(_ action: @escaping @Sendable (String) -> Void) {
        #if SQLite
        database.onDamage { error in action("\(error)") }
        #endif
    }

    /// Whether what is taken in survives the process in this build.
    static var isDurable: Bool {
        #if SQLite
        true
        #else
        false
        #endif
    }

    /// Where the agent answers commands.
    var control: ControlSocket { ControlSocket(state: directory) }

    var killFile: KillFile { KillFile(directory: directory) }

    func stores(_ rules: RoutingRules, _ shortages: Shortages?) throws -> AgentStores {
        #if SQLite
        let inbox = try SQLiteInbox(database, shortages: shortages)
        let seen = try SQLiteSeenStore(writtenBy: inbox, window: rules.dedupe)
        return AgentStores(
            inbox: inbox, deadLetters: try SQLiteDeadLetterStore(writtenBy: inbox),
            deduplicator: Deduplicator(store: seen, secret: database.secret),
            breakers: try SQLiteBreakerStore(database))
        #else
        return AgentStores()
        #endif
    }
}

/// The stores of an agent; in memory, unless it has a state directory.
struct AgentStores {
    var inbox: any Inbox = InMemoryInbox()
    var deadLetters: any DeadLetterStore = InMemoryDeadLetterStore()
    /// The chain's first stage; nil for one in memory.
    var deduplicator: Deduplicator?
    /// What keeps the loop guard's open breakers; nil where nothing does.
    var breakers: (any BreakerStore)?
}

/// A state directory is of no use.
struct StateError: Error, CustomStringConvertible {
    let path: String
    let what: String

    var description: String { "\(escaped(path)): \(what)" }
}
