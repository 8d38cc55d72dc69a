#if SQLite
public import KiiPushSystem

/// Why a database was not opened, or a call on it failed; never quotes the database's contents.
@nonexhaustive
public enum SQLiteError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The directory or the file cannot be created or opened.
    case cannotOpen(path: String, ErrorNumber)
    /// Another process has the database open, or this one has already opened it.
    case inUse(path: String)
    /// The path is not a regular file, but a directory or a symbolic link, for example.
    case notAFile(path: String)
    /// The file or its directory belongs to another user.
    case foreignOwner(path: String)
    /// Users other than the owner may read or write the file, or write to its directory.
    case openToOthers(path: String, mode: UInt32)
    /// The file is another program's database.
    case foreignDatabase(path: String)
    /// A newer release wrote the file, in a version that this one does not know.
    case newerSchema(path: String, version: Int, newestKnown: Int)
    /// The file is empty or missing, though a database existed.
    case emptied(path: String)
    /// SQLite cannot keep a setting that durable commits need, as on some network file systems.
    case notDurable(path: String, setting: String)

    /// The file is damaged, or not a database.
    case corrupt(path: String)
    /// The disk, the quota or the database's own limit is reached; nothing has changed.
    case full(path: String)
    /// Reading or writing failed; `code` is SQLite's extended result code.
    case inputOutput(path: String, ErrorNumber, code: Int32)
    /// Another program kept the database locked for longer than a second.
    case busy(path: String)
    /// The database was closed.
    case closed(path: String)
    /// The database already has a store of this kind, which alone has the state in memory.
    case storeInUse(path: String, kind: String)
    /// SQLite refused a call; `code` is its extended result code. A fault of this library.
    case refused(path: String, code: Int32)

    /// What is wrong, where, and how to fix it; one line for people.
    public var description: String { "\(EscapedText(path)): \(what)" }

    private var path: String {
        switch self {
        case .cannotOpen(let path, _), .inUse(let path), .notAFile(let path), .foreignOwner(let path),
            .openToOthers(let path, _), .foreignDatabase(let path), .newerSchema(let path, _, _),
            .emptied(let path), .notDurable(let path, _), .corrupt(let path), .full(let path),
            .inputOutput(let path, _, _), .busy(let path),
            .closed(let path), .storeInUse(let path, _), .refused(let path, _):
            path
        }
    }

    private var what: String {
        switch self {
        case .cannotOpen(_, let number): "cannot be opened: \(number)"
        case .inUse: "another process has it open; stop that one, or use another state directory"
        case .notAFile: "is not a regular file; move it away"
        case .foreignOwner: "belongs to another user; run as that user, or use another state directory"
        case .openToOthers(_, let mode):
            "mode \(String(mode, radix: 8)) gives others access; remove it with chmod go-rwx"
        case .foreignDatabase: "is another program's database; use another state directory"
        case .newerSchema(_, let version, let known):
            "has version \(version), but this release supports at most \(known); use a newer release"
        case .notDurable(_, let setting):
            "SQLite cannot keep \(setting) here, and could lose committed data; use a local file system"
        case .corrupt:
            "is damaged; start 'kiipush receive' on it, or open it with SQLiteDatabase(healing:): the file is renamed, "
                + "and its readable rows are saved"
        case .emptied:
            "is empty or missing, though a database was there; restore it, or start 'kiipush receive' on it, or open "
                + "it with SQLiteDatabase(healing:), to begin a new one"
        case .full:
            "no room is left; free some on the disk, at least 256 KiB for it to be opened; then replay or drop dead "
                + "letters"
        case .inputOutput(_, let number, let code):
            "reading or writing failed (SQLite's code \(code)): \(number); check the disk"
        case .busy: "another program keeps it locked; stop that one"
        case .closed: "is closed; open it again"
        case .storeInUse(_, let kind): "has \(kind == "inbox" ? "an inbox" : "a \(kind) store") already; share that one"
        case .refused(_, let code): "SQLite refused a call with its code \(code); please report it"
        }
    }
}
#endif
