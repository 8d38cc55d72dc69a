import CLibrary
import KiiPush
import KiiPushDelivery
import KiiPushSystem
import KiiPushSQLite
import Synchronization

/// A state directory that only this process uses: its stores, and other persistent state.
package final class AgentState: Sendable {
    package enum Opening {
        case opened(AgentState)
        /// An agent uses it, and answers here.
        case taken(ControlSocket)
    }

    let directory: String
    /// Nil when it is closed.
    private let lock: Mutex<FileLock?>
    /// Nil if the directory existed before.
    private let firstStart: FirstStart?
    #if SQLite
    let database: SQLiteDatabase
    #endif

    /// Opens a directory, and creates it if missing, unless an agent uses it.
    ///
    /// It waits for `patience`: a program that a killed agent was just starting may briefly hold its lock. An agent
    /// `heals` a damaged database, since it can report that; a command would hide it.
    ///
    /// - Throws: why it cannot be opened.
    package static func open(_ directory: String, patience: Duration = .zero, heals: Bool = false) throws -> Opening {
        let firstStart = FirstStart(directory)
        do throws(ErrorNumber) { try StateDirectory.make(directory) } catch {
            throw AgentError("\(escaped(directory)): cannot be made: \(error)")
        }
        let path = lockPath(directory)
        let lock: FileLock
        do throws(ErrorNumber) { lock = try FileLock(path, limit: patience) } catch {
            if error.rawValue == EWOULDBLOCK { return .taken(ControlSocket(state: directory)) }
            firstStart?.undo()
            throw AgentError("\(escaped(path)): cannot be locked: \(error)\(error.advice)")
        }
        do { return .opened(try AgentState(directory, lock, heals: heals, firstStart)) } catch {
            firstStart?.undo()
            lock.unlock()
            throw error
        }
    }

    /// Whether an agent has run on a directory, or this user may not know; a kill may be there before the first one.
    package static func isThere(_ directory: String) -> Bool {
        guard let names = entries(ofDirectory: directory) else { return StateDirectory.isThere(directory) }
        return names.contains { owns($0) && !$0.hasPrefix(KillFile.name) }
    }

    /// Why no agent of a directory has answered.
    package enum Silence: Error, Equatable {
        case nobody
        /// An agent, or briefly a command, uses the directory, but does not answer, or its answer is invalid.
        case silent(String)
        /// This user may not ask, so that nobody knows whether an agent runs.
        case unknown(String)
    }

    /// Why no agent of a directory has answered, whose socket has failed for this reason; creates nothing.
    package static func silence(of directory: String, _ reason: any Error) -> Silence {
        if case .nobodyAnswers(_, let number)? = reason as? SocketError, number.isRefusal {
            return .unknown("\(reason)")
        }
        let path = lockPath(directory)
        do throws(ErrorNumber) {
            guard unsafe access(path, F_OK) == 0 else { throw .current }
            try FileLock(path, limit: .zero).unlock()
            return .nobody
        } catch {
            if error.isRefusal { return .unknown("\(SocketError.nobodyAnswers(path: path, error))") }
            return error.rawValue == EWOULDBLOCK ? .silent("\(reason)") : .nobody
        }
    }

    /// Refuses a file that the agent keeps as its state here, as a place for something else.
    func refuse(_ path: String?, as option: String) throws {
        guard let path, let file = try? fileToReplace(path),
            FileStamp(directoryName(file)).isSameFile(as: FileStamp(directory))
        else { return }
        if Self.owns(file.split(separator: "/").last ?? "") {
            throw AgentError("\(escaped(path)): belongs to the agent's state; name another file for the \(option)")
        }
    }

    /// Whether a name is one that an agent uses in a state directory.
    static func owns(_ name: some StringProtocol) -> Bool {
        let names = [
            "agent.lock", "client-id", "control.sock", "kiipush.db", KillFile.name, "mqtt-retained", "mqtt-session",
        ]
        // Some have companions, such as `kiipush.db-wal` and `kill.json.lock`.
        return names.contains { name == $0 || name.hasPrefix("\($0).") || name.hasPrefix("\($0)-") }
    }

    /// The file whose lock marks the directory as in use.
    private static func lockPath(_ directory: String) -> String { "\(directory)/agent.lock" }

    private init(_ directory: String, _ lock: FileLock, heals: Bool, _ firstStart: FirstStart?) throws {
        (self.directory, self.firstStart) = (directory, firstStart)
        self.lock = Mutex(lock)
        #if SQLite
        database = try heals ? SQLiteDatabase(healing: directory) : SQLiteDatabase(directory: directory)
        #endif
    }

    deinit { close() }

    /// Closes the stores, as at a normal end; another agent may then use the directory.
    func close() {
        closeStores()
        lock.withLock { lock in
            lock?.unlock()
            lock = nil
        }
    }

    private func closeStores() {
        #if SQLite
        database.close()
        #endif
    }

    /// Closes the stores, and removes a new directory: for a start that failed before anything arrived.
    func leaveNothing() {
        closeStores()
        firstStart?.undo()
        close()
    }

    /// The last healing of the database while its old file exists: the report, and whether it is new.
    var healing: (text: String, isNew: Bool)? {
        #if SQLite
        database.healing.map { ($0.description, $0.isNew) }
        #else
        nil
        #endif
    }

    /// Calls `action` once when the open state is found damaged or missing; nothing is stored from then on.
    func onDamage(_ action: @escaping @Sendable (String) -> Void) {
        #if SQLite
        database.onDamage { error in action("\(error)") }
        #endif
    }

    /// Whether accepted payloads survive the process in this build.
    package static var isDurable: Bool {
        #if SQLite
        true
        #else
        false
        #endif
    }

    var control: ControlSocket { ControlSocket(state: directory) }

    var killFile: KillFile { KillFile(directory: directory) }

    func stores(_ window: SeenWindow, _ shortages: Shortages?) throws -> AgentStores {
        #if SQLite
        let inbox = try SQLiteInbox(database, shortages: shortages)
        let seen = try SQLiteSeenStore(writtenBy: inbox, window: window)
        return AgentStores(
            inbox: inbox, isFirst: inbox.isUnused, deadLetters: try SQLiteDeadLetterStore(writtenBy: inbox),
            deduplicator: Deduplicator(store: seen, secret: database.secret))
        #else
        return AgentStores()
        #endif
    }
}

/// The stores of an agent; in memory without a state directory.
struct AgentStores {
    var inbox: any Inbox = InMemoryInbox()
    /// Whether no payload was ever accepted here.
    var isFirst = true
    var deadLetters: any DeadLetterStore = InMemoryDeadLetterStore()
    /// The chain's first middleware; nil for one in memory.
    var deduplicator: Deduplicator?
}
