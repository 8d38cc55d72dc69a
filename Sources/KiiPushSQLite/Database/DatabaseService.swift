#if SQLite
import KiiPush

/// What the database knows of its processes.
struct DatabaseService {
    let secret: DedupeSecret
    /// How often the file was opened, including this time.
    let openings: Int64
    /// The number of this process's boot in the table of boots.
    let boot: Int64
    /// The latest time of a message for each earlier boot.
    let latest: [Int64: StoredTime]
}

// Sets up the connection of an opened database, and its service data.
extension Connection {
    /// The last number that a table has assigned; 0 if it has assigned none.
    mutating func lastNumber(of table: String) throws(SQLiteError) -> Int64 {
        try number("SELECT max(seq) FROM sqlite_sequence WHERE name = ?", .text(table)) ?? 0
    }

    /// Checks that no value exists that a store would refuse later.
    mutating func checkNumbers() throws(SQLiteError) {
        let reasons = (DeadLetter.Reason.allCases.map(\.rawValue) + [DeadLetter.Reason.storedEarlier])
            .map { "'\($0)'" }.joined(separator: ", ")
        let wrong = try number(
            """
            SELECT (SELECT count(*) FROM inbox WHERE id < 1
                    OR id > (SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'inbox'))
                + (SELECT count(*) FROM deadLetters WHERE id < 1 OR reason NOT IN (\(reasons))
                    OR id > (SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'deadLetters'))
                + (SELECT count(*) FROM sqlite_sequence WHERE seq < 0)
                + (SELECT count(*) FROM answers WHERE payload < 1)
                + (SELECT count(*) FROM seen WHERE number >= ?)
            """, .integer(.max / 2))
        guard wrong == 0 else { throw .corrupt(path: path) }
    }

    /// Sets up the connection, and checks that the file is valid, ours, and of the newest version.
    mutating func open(_ path: String, _ machine: MachineTime) throws(SQLiteError) -> DatabaseService {
        // Views and triggers of a forged file must not call functions. SQLite reserves 20 pages of memory before it
        // obeys the limit, but not once these are released.
        try script(
            "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA foreign_keys = ON; PRAGMA cache_size = 2")
        releasePages()
        // Before anything is changed, even the mode: the file may belong to another program, or to a newer release.
        try Schema.check(&self, path: path)
        // Without the name, SQLite opens its temporary database too.
        guard try text("PRAGMA main.quick_check(1)") == "ok" else { throw .corrupt(path: path) }
        keepLog(false)
        guard try text("PRAGMA journal_mode = WAL") == "wal" else { throw .notDurable(path: path, setting: "WAL") }
        // The log never shrinks, and could fill a small disk, so that the database could not grow any more.
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
        let service = try transaction { connection throws(SQLiteError) in try connection.start(machine) }
        try script("PRAGMA cache_size = -2000")
        return service
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
        guard openings > 0 else { throw .corrupt(path: path) }
        let boot = try boot(machine.boot)
        return DatabaseService(secret: secret, openings: openings, boot: boot, latest: try latestTimes(otherThan: boot))
    }

    /// The latest time of a message for each other boot: the times of a boot are measured back from it.
    private mutating func latestTimes(otherThan boot: Int64) throws(SQLiteError) -> [Int64: StoredTime] {
        var latest: [Int64: StoredTime] = [:]
        // With max(), SQLite returns the other columns of the same row.
        try each(
            """
            SELECT boot, max(monotonic), wall
                FROM (SELECT boot, monotonic, wall FROM seen UNION ALL SELECT boot, monotonic, wall FROM inbox)
                WHERE boot <> ? GROUP BY boot
            """, [.integer(boot)]
        ) { row in latest[row.integer(0)] = row.time(0) }
        return latest
    }

    /// The number of a boot; removes boots without references.
    private mutating func boot(_ id: String) throws(SQLiteError) -> Int64 {
        try run(
            """
            DELETE FROM boots WHERE id <> ? AND number NOT IN (SELECT boot FROM seen)
                AND number NOT IN (SELECT boot FROM deadLetters)
                AND number NOT IN (SELECT firstBoot FROM deadLetters WHERE firstBoot IS NOT NULL)
                AND number NOT IN (SELECT boot FROM inbox)
            """, .text(id))
        // If the boot is unknown, each process counts as a boot of its own.
        if id.isEmpty { try run("UPDATE boots SET id = 'unknown ' || number WHERE id = ''") }
        try run("INSERT INTO boots (id) VALUES (?) ON CONFLICT DO NOTHING", .text(id))
        return try number("SELECT number FROM boots WHERE id = ?", .text(id)) ?? 0
    }
}
#endif
