#if SQLite
import CLibrary
import KiiPushSystem

/// A completed step of healing, on disk before the next begins; a test ends the process after each.
enum HealingStep: CaseIterable {
    case noted, moved, movedLog, madeNew, copied, notedEnd, placed
}

/// Sets a damaged database aside and replaces it by a new one, with its readable contents.
///
/// A process that ends in between leaves the old files complete, and a marker that says under which name; the next
/// process resumes there. It works under the database's lock.
struct DatabaseHealer {
    /// How many old databases are kept, newest first.
    static let most = 3
    static let infix = "damaged-"
    /// The files that SQLite keeps beside a database.
    private static let companions = ["-wal", "-shm", "-journal"]

    let path: String
    /// The wall clock's time in nanoseconds, for the file's name.
    let wall: Int64
    let step: (HealingStep) -> Void

    private var directory: String { String(path.dropLast(SQLiteDatabase.fileName.count)) }
    private var new: String { "\(path).new" }

    /// Whether a database's file is empty or missing, though there was one.
    static func isEmptied(_ path: String, _ marker: DatabaseMarker?) -> Bool {
        // SQLite removes the log of an empty database when it opens it, and treats a file of one byte as empty.
        FileStamp(path).size <= 1 && (marker != nil || FileStamp("\(path)-wal").size > 0)
    }

    /// Whether a file exists, such as the old one of a healing.
    static func isThere(_ path: String) -> Bool { FileStamp(path).error == nil }

    // MARK: Steps

    /// Resumes an interrupted healing; nil if there is none.
    func resume(_ marker: DatabaseMarker?) throws(SQLiteError) -> DatabaseHealing? {
        // A file that has been created in the old one's place since is not touched.
        guard FileStamp(path).size <= 1 else { return nil }
        switch marker {
        case .healing(let aside, let cause) where Self.isThere(directory + aside):
            return try finish(directory + aside, cause)
        case .healed(var healing) where Self.isThere(new):
            try place()
            healing.isNew = true
            return healing
        default: return nil
        }
    }

    func heal(_ cause: DatabaseHealing.Cause) throws(SQLiteError) -> DatabaseHealing {
        let aside = freeName()
        try DatabaseMarker.healing(aside: aside, cause).write(path)
        step(.noted)
        try move(path, directory + aside)
        step(.moved)
        return try finish(directory + aside, cause)
    }

    private func finish(_ aside: String, _ cause: DatabaseHealing.Cause) throws(SQLiteError) -> DatabaseHealing {
        for end in Self.companions where Self.isThere(path + end) { try move(path + end, aside + end) }
        try sync()
        step(.movedLog)
        removeOldest(but: aside)
        let saved = try makeNew(aside)
        let healing = DatabaseHealing(
            damagedPath: aside, cause: cause, inbox: saved.inbox, deadLetters: saved.deadLetters, seen: saved.seen,
            lastPayload: saved.lastPayload)
        // From here on the new database is complete, and only has to be moved.
        try DatabaseMarker.healed(healing).write(path)
        step(.notedEnd)
        try place()
        return healing
    }

    private func makeNew(_ aside: String) throws(SQLiteError) -> Salvage {
        for end in [""] + Self.companions { try remove(new + end) }
        try DatabaseFile.make(new)
        var connection = try Connection(path: new)
        try connection.script("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON")
        try Schema.migrate(&connection)
        step(.madeNew)
        let saved = try Salvage(of: aside, into: &connection)
        step(.copied)
        return saved
    }

    private func place() throws(SQLiteError) {
        try move(new, path)
        try sync()
        step(.placed)
    }

    // MARK: Files

    /// An unused name with the date.
    private func freeName() -> String {
        var second = wall / 1_000_000_000
        while true {
            let date = UTCDate(milliseconds: second * 1000)?.shortText ?? "\(second)"
            let name = "\(SQLiteDatabase.fileName).\(Self.infix)\(date.filter { $0 != "-" && $0 != ":" })"
            if !([""] + Self.companions).contains(where: { Self.isThere(directory + name + $0) }) { return name }
            second += 1
        }
    }

    private func removeOldest(but aside: String) {
        let start = "\(SQLiteDatabase.fileName).\(Self.infix)"
        let names = Set(
            (entries(ofDirectory: directory) ?? []).filter { $0.hasPrefix(start) }.map { name in
                Self.companions.first { name.hasSuffix($0) }.map { String(name.dropLast($0.count)) } ?? name
            }
        ).subtracting([String(aside.dropFirst(directory.count))])
        // A file that cannot be removed does no harm.
        for name in names.sorted().dropLast(Self.most - 1) {
            for end in [""] + Self.companions { try? remove(directory + name + end) }
        }
    }

    private func move(_ from: String, _ to: String) throws(SQLiteError) {
        do throws(ErrorNumber) { try renameFile(from, to: to) } catch { throw .cannotOpen(path: to, error) }
    }

    private func remove(_ path: String) throws(SQLiteError) {
        guard unsafe unlink(path) == 0 || errno == ENOENT else { throw .cannotOpen(path: path, .current) }
    }

    private func sync() throws(SQLiteError) {
        do throws(ErrorNumber) { try syncDirectory(of: path) } catch { throw .cannotOpen(path: directory, error) }
    }
}
#endif
