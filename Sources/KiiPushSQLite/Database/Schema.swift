#if SQLite
/// The tables of a database, created by successive migrations.
enum Schema {
    /// Distinguishes our files from other programs'; stored in the file's header.
    static let application: Int64 = 0x4B69_6950  // "KiiP"

    /// The version that the first release made; the numbers below it were never released.
    private static let first = 7

    /// The statements that make the first version, and from each version to the next; a released one is never changed.
    ///
    /// A payload's progress has its own row: changing a row rewrites all of it, including 64 KiB of payload. `mqtt` is
    /// what an MQTT broker said of a payload, as JSON. A dead letter may stand for several: its columns are those of the
    /// newest message, and the first one's time is null if there is only one. Answers, which are JSON too, outlive their
    /// payload's row until they are delivered.
    static let migrations = [
        """
        CREATE TABLE service (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            secretFirst INTEGER NOT NULL,
            secretSecond INTEGER NOT NULL,
            opened INTEGER NOT NULL
        ) STRICT;
        CREATE TABLE boots (
            number INTEGER PRIMARY KEY,
            id TEXT NOT NULL UNIQUE
        ) STRICT;
        CREATE TABLE seen (
            strength INTEGER NOT NULL,
            number INTEGER NOT NULL,
            first INTEGER NOT NULL,
            second INTEGER NOT NULL,
            otherFirst INTEGER,
            otherSecond INTEGER,
            boot INTEGER NOT NULL REFERENCES boots,
            monotonic INTEGER NOT NULL,
            wall INTEGER NOT NULL,
            PRIMARY KEY (strength, number)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE deadLetters (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            reason TEXT NOT NULL,
            boot INTEGER NOT NULL REFERENCES boots,
            monotonic INTEGER NOT NULL,
            wall INTEGER NOT NULL,
            transport TEXT,
            transportMessageID TEXT,
            isRedelivered INTEGER NOT NULL,
            payloadArrivedAfter INTEGER,
            payload BLOB NOT NULL,
            attempts INTEGER NOT NULL DEFAULT 0,
            rulesGeneration INTEGER NOT NULL DEFAULT 0,
            cause TEXT,
            count INTEGER NOT NULL DEFAULT 1,
            bytesLost INTEGER NOT NULL DEFAULT 0,
            firstBoot INTEGER REFERENCES boots,
            firstMonotonic INTEGER,
            firstWall INTEGER,
            mqtt TEXT
        ) STRICT;
        CREATE TABLE deadLetterRoutes (
            letter INTEGER NOT NULL REFERENCES deadLetters ON DELETE CASCADE,
            position INTEGER NOT NULL,
            route TEXT NOT NULL,
            PRIMARY KEY (letter, position)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE deadLetterKeys (
            letter INTEGER NOT NULL REFERENCES deadLetters ON DELETE CASCADE,
            position INTEGER NOT NULL,
            first INTEGER NOT NULL,
            second INTEGER NOT NULL,
            PRIMARY KEY (letter, position)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE inbox (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            boot INTEGER NOT NULL REFERENCES boots,
            monotonic INTEGER NOT NULL,
            wall INTEGER NOT NULL,
            transport TEXT,
            transportMessageID TEXT,
            isRedelivered INTEGER NOT NULL,
            payload BLOB NOT NULL,
            mqtt TEXT
        ) STRICT;
        CREATE TABLE inboxProgress (
            payload INTEGER PRIMARY KEY REFERENCES inbox ON DELETE CASCADE,
            attempts INTEGER NOT NULL,
            isInFlight INTEGER NOT NULL,
            crashes INTEGER NOT NULL,
            crashedAlone INTEGER NOT NULL
        ) STRICT;
        CREATE TABLE inboxHandled (
            payload INTEGER NOT NULL REFERENCES inbox ON DELETE CASCADE,
            position INTEGER NOT NULL,
            route TEXT NOT NULL,
            answer TEXT,
            PRIMARY KEY (payload, position)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE answers (
            payload INTEGER PRIMARY KEY,
            sender TEXT NOT NULL,
            transport TEXT,
            command BLOB NOT NULL,
            mqtt TEXT,
            answer TEXT NOT NULL
        ) STRICT;
        """
    ]

    /// The newest version.
    private static var newest: Int { first + migrations.count - 1 }

    /// Refuses a database that is not ours, or is newer.
    static func check(_ connection: inout Connection, path: String) throws(SQLiteError) {
        let version = Int(try connection.number("PRAGMA user_version") ?? 0)
        let application = try connection.number("PRAGMA application_id") ?? 0
        let isEmpty = try connection.number("SELECT count(*) FROM sqlite_schema") == 0
        let isNew = isEmpty && version == 0 && application == 0
        guard isNew || application == Self.application && version >= first else { throw .foreignDatabase(path: path) }
        guard version <= newest else { throw .newerSchema(path: path, version: version, newestKnown: newest) }
    }

    /// Migrates a database to the newest version, one transaction per step.
    static func migrate(_ connection: inout Connection) throws(SQLiteError) {
        let version = Int(try connection.number("PRAGMA user_version") ?? 0)
        for (index, migration) in migrations.enumerated() where first + index > version {
            try connection.transaction { connection throws(SQLiteError) in
                try connection.script(migration)
                try connection.run("PRAGMA application_id = \(Self.application)")
                try connection.run("PRAGMA user_version = \(first + index)")
            }
        }
    }
}
#endif
