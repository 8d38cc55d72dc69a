#if SQLite
/// The tables of a database, made by one migration after the other.
enum Schema {
    /// Tells our files from other programs'; stands in the file's header.
    static let application: Int64 = 0x4B69_6950  // "KiiP"

    /// How version n+1 is made of version n; what was released once is never changed.
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
        // How far a payload has come stands in a row of its own: changing a row writes all of it anew, also 64 KiB.
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
        // The number says in which order they opened; boot, monotonic and wall are the end of the cool-down.
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
        // A letter may stand for many: the columns of the letter are the newest message's; the first one's time is null
        // for one that stands for itself alone.
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
    ]

    /// Refuses a database that is not ours or is newer.
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

    /// Brings a database to the newest version, one step after the other; each is made as a whole.
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
