#if SQLite
import Glibc
import KiiPushLinux

/// What a healing has done, each on disk before the next begins; a test ends the process after any of them.
enum HealingStep: CaseIterable {
    case noted, moved, movedLog, madeNew, copied, notedEnd, placed
}

/// Puts a damaged database aside and a new one in its place, with what can be read of the old one.
///
/// A process that ends on the way leaves the old files whole, under their old name or the new one, and a marker that
/// says which; the next one goes on from there. It works under the database's lock.
struct DatabaseHealer {
    /// How many databases that were put aside are kept, the newest ones.
    static let most = 3
    static let infix = "damaged-"
    /// What SQLite keeps beside a database.
    private static let companions = ["-wal", "-shm", "-journal"]

    let path: String
    /// The time of the wall clock, in nanoseconds, of which the file is named.
    let wall: Int64
    let step: (HealingStep) -> Void

    private var directory: String { String(path.dropLast(SQLiteDatabase.fileName.count)) }
    private var new: String { "\(path).new" }

    /// Whether there is nothing in a database's file, though there was one.
    static func isEmptied(_ path: String, _ marker: DatabaseMarker?) -> Bool {
        // SQLite removes the log of an empty database when it opens that; one byte counts as none for it.
        (size(path) ?? 0) <= 1 && (marker != nil || (size("\(path)-wal") ?? 0) > 0)
    }

    /// Whether a healing's old file still lies there.
    static func isThere(_ path: String) -> Bool { size(path) != nil }

    // MARK: Steps

    /// Goes on where a process ended that was healing; nil when there is nothing to go on with.
    func resume(_ marker: DatabaseMarker?) throws(SQLiteError) -> DatabaseHealing? {
        // What has come into the old one's place since is not to be touched.
        guard (Self.size(path) ?? 0) <= 1 else { return nil }
        switch marker {
        case .healing(let aside, let cause) where Self.size(directory + aside) != nil:
            return try finish(directory + aside, cause)
        case .healed(var healing) where Self.size(new) != nil:
            try place()
            healing.isNew = true
            return healing
        default: return nil
        }
    }

    /// Heals a database that is closed.
    func heal(_ cause: DatabaseHealing.Cause) throws(SQLiteError) -> DatabaseHealing {
        let aside = freeName()
        try DatabaseMarker.healing(aside: aside, cause).write(path)
        step(.noted)
        try move(path, directory + aside)
        step(.moved)
        return try finish(directory + aside, cause)
    }

    private func finish(_ aside: String, _ cause: DatabaseHealing.Cause) throws(SQLiteError) -> DatabaseHealing {
        for end in Self.companions where Self.size(path + end) != nil { try move(path + end, aside + end) }
        try sync()
        step(.movedLog)
        removeOldest(but: aside)
        let saved = try makeNew(aside)
        let healing = DatabaseHealing(
            damagedPath: aside, cause: cause, inbox: saved.inbox, deadLetters: saved.deadLetters, seen: saved.seen)
        // From here on the new one is complete, and is only to be moved.
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

    /// A name that says when, and that no file has.
    private func freeName() -> String {
        var second = wall / 1_000_000_000
        while true {
            let date = UTCDate(milliseconds: second * 1000)?.shortText ?? "\(second)"
            let name = "\(SQLiteDatabase.fileName).\(Self.infix)\(date.filter { $0 != "-" && $0 != ":" })"
            if ([""] + Self.companions).allSatisfy({ Self.size(directory + name + $0) == nil }) { return name }
            second += 1
        }
    }

    /// Removes what was put aside the longest ago, beyond the number that is kept.
    private func removeOldest(but aside: String) {
        let start = "\(SQLiteDatabase.fileName).\(Self.infix)"
        let names = Set(
            (StateDirectory.names(in: directory) ?? []).filter { $0.hasPrefix(start) }.map { name in
                Self.companions.first { name.hasSuffix($0) }.map { String(name.dropLast($0.count)) } ?? name
            }
        ).subtracting([String(aside.dropFirst(directory.count))])
        // One that cannot be removed harms nobody.
        for name in names.sorted().dropLast(Self.most - 1) {
            for end in [""] + Self.companions { try? remove(directory + name + end) }
        }
    }

    /// How many bytes a file has; nil when there is none.
    private static func size(_ path: String) -> Int64? {
        var status = stat()
        // The call reads the path and fills in `status`.
        return unsafe lstat(path, &status) == 0 ? Int64(status.st_size) : nil
    }

    private func move(_ from: String, _ to: String) throws(SQLiteError) {
        guard unsafe rename(from, to) == 0 else { throw .cannotOpen(path: to, .current) }
    }

    private func remove(_ path: String) throws(SQLiteError) {
        guard unsafe unlink(path) == 0 || errno == ENOENT else { throw .cannotOpen(path: path, .current) }
    }

    /// Brings the names of the files to the disk.
    private func sync() throws(SQLiteError) {
        do throws(ErrorNumber) { try syncDirectory(of: path) } catch { throw .cannotOpen(path: directory, error) }
    }
}
#endif
