#if SQLite
/// The tables of a database, created by successive migrations.
enum Schema {
    /// Distinguishes our files from other programs'; stored in the file's header.
    static let application: Int64 = 0x4B69_6950  // "KiiP"

    /// The statements from version n to n+1; a released one is never changed.
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
            payload BLOB NOT NULL
        ) STRICT;
        CREATE TABLE deadLetterRoutes (
            letter INTEGER NOT NULL REFERENCES deadLetters ON DELETE CASCADE,
            position INTEGER NOT NULL,
            route TEXT NOT NULL,
            PRIMARY KEY (letter, position)
        ) STRICT, WITHOUT ROWID;
        """,
        // A payload's progress has its own row: changing a row rewrites all of it, including 64 KiB of payload.
        """
        ALTER TABLE deadLetters ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE deadLetters ADD COLUMN rulesGeneration INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE deadLetters ADD COLUMN cause TEXT;
        CREATE TABLE inbox (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            boot INTEGER NOT NULL REFERENCES boots,
            monotonic INTEGER NOT NULL,
            wall INTEGER NOT NULL,
            transport TEXT,
            transportMessageID TEXT,
            isRedelivered INTEGER NOT NULL,
            payload BLOB NOT NULL
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
            PRIMARY KEY (payload, position)
        ) STRICT, WITHOUT ROWID;
        """,
        // The number is the order of opening; boot, monotonic and wall are the end of the wait.
        """
        CREATE TABLE breakers (
            number INTEGER PRIMARY KEY,
            isWide INTEGER NOT NULL,
            first INTEGER NOT NULL,
            second INTEGER NOT NULL,
            coolDown INTEGER NOT NULL,
            boot INTEGER NOT NULL REFERENCES boots,
            monotonic INTEGER NOT NULL,
            wall INTEGER NOT NULL,
            UNIQUE (isWide, first, second)
        ) STRICT;
        """,
        // A dead letter may stand for several: its columns are those of the newest message; the first one's time is
        // null if there is only one.
        """
        ALTER TABLE deadLetters ADD COLUMN count INTEGER NOT NULL DEFAULT 1;
        ALTER TABLE deadLetters ADD COLUMN bytesLost INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE deadLetters ADD COLUMN firstBoot INTEGER REFERENCES boots;
        ALTER TABLE deadLetters ADD COLUMN firstMonotonic INTEGER;
        ALTER TABLE deadLetters ADD COLUMN firstWall INTEGER;
        CREATE TABLE deadLetterKeys (
            letter INTEGER NOT NULL REFERENCES deadLetters ON DELETE CASCADE,
            position INTEGER NOT NULL,
            first INTEGER NOT NULL,
            second INTEGER NOT NULL,
            PRIMARY KEY (letter, position)
        ) STRICT, WITHOUT ROWID;
        """,
        // The loop guard no longer keeps its state.
        "DROP TABLE breakers;",
        // What an MQTT broker said of a payload, as JSON.
        """
        ALTER TABLE inbox ADD COLUMN mqtt TEXT;
        ALTER TABLE deadLetters ADD COLUMN mqtt TEXT;
        """,
        // Answers outlive their payload's row until they are delivered; those of routes are JSON, too.
        """
        ALTER TABLE inboxHandled ADD COLUMN answer TEXT;
        CREATE TABLE answers (
            payload INTEGER PRIMARY KEY,
            sender TEXT NOT NULL,
            transport TEXT,
            command BLOB NOT NULL,
            mqtt TEXT,
            answer TEXT NOT NULL
        ) STRICT;
        """,
    ]

    /// Refuses a database that is not ours, or is newer.
    static func check(_ connection: inout Connection, path: String) throws(SQLiteError) {
        let version = Int(try connection.number("PRAGMA user_version") ?? 0)
        let application = try connection.number("PRAGMA application_id") ?? 0
        let isEmpty = try connection.number("SELECT count(*) FROM sqlite_schema") == 0
        guard application == Self.application || isEmpty && version == 0 && application == 0 else {
            throw .foreignDatabase(path: path)
        }
        guard version <= migrations.count else {
            throw .newerSchema(path: path, version: version, newestKnown: migrations.count)
        }
    }

    /// Migrates a database to the newest version, one transaction per step.
    static func migrate(_ connection: inout Connection) throws(SQLiteError) {
        let version = Int(try connection.number("PRAGMA user_version") ?? 0)
        for (index, migration) in migrations.enumerated().dropFirst(version) {
            try connection.transaction { connection throws(SQLiteError) in
                try connection.script(migration)
                try connection.run("PRAGMA application_id = \(Self.application)")
                try connection.run("PRAGMA user_version = \(index + 1)")
            }
        }
    }
}
#endif
