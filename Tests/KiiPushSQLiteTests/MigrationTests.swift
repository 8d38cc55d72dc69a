#if SQLite
import Foundation
import KiiPush
import KiiPushDelivery
import KiiPushTesting
import Testing

@testable import KiiPushSQLite

/// What becomes of a file that an earlier release wrote.
struct MigrationTests {
    private let folder = StateFolder()
    private var directory: String { folder.directory }

    /// Writes a file as version 1 did, with two messages, a letter and a number that was used before.
    private func makeVersion1() throws { try make(Self.version1) }

    private func make(_ script: String) throws {
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        let path = "\(directory)/kiipush.db"
        #expect(FileManager.default.createFile(atPath: path, contents: nil, attributes: [.posixPermissions: 0o600]))
        var connection = try Connection(path: path)
        try connection.script("PRAGMA journal_mode = WAL; BEGIN; \(script); COMMIT")
    }

    @Test("a file of version 1 keeps all that is in it, and takes what is new")
    func version1() async throws {
        try makeVersion1()
        for round in 1...2 {
            let database = try SQLiteDatabase(directory: directory)
            #expect(
                database.secret == DedupeSecret(11, UInt64(bitPattern: -12))
                    && database.service.openings == 7 + Int64(round))
            let seen = try SQLiteSeenStore(database, clock: ManualClock())
            #expect(seen.counts == SeenCounts(strong: .init(remembered: 1), weak: .init(remembered: 1)))
            #expect(seen.isDone(.numbered(1), at: .seconds(0)))
            let letters = try SQLiteDeadLetterStore(database)
            let old = try #require(try letters.letters().first)
            #expect(
                old.id == 4 && old.reason == .backlogFull && old.routes == ["a", "b"]
                    && old.payload.bytes == [1, 2, 3])
            #expect(old.payload.transport == .mqtt && old.payload.isRedelivered && old.receivedAt == 1_800_000_000_000)
            #expect(old.attempts == 0 && old.rulesGeneration == 0 && old.cause == nil)
            let inbox = try SQLiteInbox(database)
            #expect(try inbox.add([RawPayload([1])]) == [UInt64(round)])
            try await inbox.record(.ended(UInt64(round)))
            if round == 1 {
                var new = DeadLetter(payload: RawPayload([9]), reason: .failed, routes: ["c"], arrivedAt: .seconds(0))
                (new.attempts, new.rulesGeneration, new.cause) = (5, 2, "Refused")
                #expect(try letters.add(new) == 6)
            } else {
                let new = try #require(try letters.letters().last)
                #expect(new.attempts == 5 && new.rulesGeneration == 2 && new.cause == "Refused")
            }
            database.close()
        }
    }

    @Test("a file of version 2 keeps its inbox")
    func version2() throws {
        try make(Self.version1 + ";" + Self.version2)
        for _ in 1...2 {
            let database = try SQLiteDatabase(directory: directory)
            #expect(database.secret == DedupeSecret(11, UInt64(bitPattern: -12)))
            let inbox = try SQLiteInbox(database)
            let entry = try #require(try inbox.entries().first)
            #expect(entry.id == 6 && entry.payload.bytes == [4, 5] && entry.payload.transport == .fcm)
            // In flight when that process ended.
            #expect(entry.attempts == 2 && entry.handled == ["a"] && entry.crashes == 1 && entry.crashedAlone)
            let letter = try #require(try SQLiteDeadLetterStore(database).letters().first)
            #expect(letter.id == 4 && letter.attempts == 3 && letter.cause == "Refused")
            database.close()
        }
    }

    @Test("a file of version 3 loses its breakers, keeps its dead letters, and takes dead letters that represent many")
    func version3() throws {
        try make(Self.version1 + ";" + Self.version2 + ";" + Self.version3)
        for round in 1...2 {
            let database = try SQLiteDatabase(directory: directory)
            #expect(try database.number("SELECT count(*) FROM sqlite_schema WHERE name = 'breakers'") == 0)
            let store = try SQLiteDeadLetterStore(database, capacity: 10)
            let letters = try store.letters()
            let old = try #require(letters.first)
            #expect(old.id == 4 && old.count == 1 && old.summary == nil && old.payload.bytes == [1, 2, 3])
            #expect(letters.dropFirst().map(\.count) == (round == 1 ? [] : [5]))
            for number in 0..<5 {
                var letter = DeadLetter(
                    payload: RawPayload([UInt8(number)]), reason: .failed, routes: ["c"], arrivedAt: .seconds(0))
                letter.keys = [DedupeKey(first: .max, second: 7)]
                #expect(try store.add(letter) == 6)
            }
            #expect(try store.letters().map(\.count) == [1, 5 * round])
            #expect(try store.letters().last?.payload.bytes == [4])
            database.close()
        }
    }

    @Test("a reason that this release does not know makes the letters unreadable, and loses none")
    func unknownReason() throws {
        try makeVersion1()
        let database = try SQLiteDatabase(directory: directory)
        try database.run("UPDATE deadLetters SET reason = 'ofAnotherTime'")
        let letters = try SQLiteDeadLetterStore(database)
        #expect(throws: SQLiteError.corrupt(path: database.path)) { try letters.letters() }
        #expect(letters.count == 1)
    }

    /// The tables of version 1, as they were released, and rows in them.
    private static let version1 = """
        CREATE TABLE service (id INTEGER PRIMARY KEY CHECK (id = 1), secretFirst INTEGER NOT NULL,
            secretSecond INTEGER NOT NULL, opened INTEGER NOT NULL) STRICT;
        CREATE TABLE boots (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE) STRICT;
        CREATE TABLE seen (strength INTEGER NOT NULL, number INTEGER NOT NULL, first INTEGER NOT NULL,
            second INTEGER NOT NULL, otherFirst INTEGER, otherSecond INTEGER, boot INTEGER NOT NULL REFERENCES boots,
            monotonic INTEGER NOT NULL, wall INTEGER NOT NULL, PRIMARY KEY (strength, number)) STRICT, WITHOUT ROWID;
        CREATE TABLE deadLetters (id INTEGER PRIMARY KEY AUTOINCREMENT, reason TEXT NOT NULL,
            boot INTEGER NOT NULL REFERENCES boots, monotonic INTEGER NOT NULL, wall INTEGER NOT NULL, transport TEXT,
            transportMessageID TEXT, isRedelivered INTEGER NOT NULL, payloadArrivedAfter INTEGER,
            payload BLOB NOT NULL) STRICT;
        CREATE TABLE deadLetterRoutes (letter INTEGER NOT NULL REFERENCES deadLetters ON DELETE CASCADE,
            position INTEGER NOT NULL, route TEXT NOT NULL, PRIMARY KEY (letter, position)) STRICT, WITHOUT ROWID;
        PRAGMA application_id = \(0x4B69_6950);
        PRAGMA user_version = 1;
        INSERT INTO service VALUES (1, 11, -12, 7);
        INSERT INTO boots VALUES (3, 'an earlier boot');
        INSERT INTO seen VALUES (1, 5, \(Int64(bitPattern: 0x9E37_79B9_7F4A_7C15)), -2, NULL, NULL, 3, 0, \(future));
        INSERT INTO seen VALUES (0, 8, 21, 22, 23, 24, 3, 0, \(future));
        INSERT INTO deadLetters VALUES (4, 'heldFull', 3, 0, 1800000000000000000, 'mqtt', 'm1', 1, 5, x'010203');
        INSERT INTO deadLetters VALUES (5, 'failed', 3, 0, 0, NULL, NULL, 0, NULL, x'00');
        DELETE FROM deadLetters WHERE id = 5;
        INSERT INTO deadLetterRoutes VALUES (4, 0, 'a'), (4, 1, 'b')
        """
    /// What version 2 made of those tables, as it was released, and rows in its own.
    private static let version2 = """
        ALTER TABLE deadLetters ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE deadLetters ADD COLUMN rulesGeneration INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE deadLetters ADD COLUMN cause TEXT;
        CREATE TABLE inbox (id INTEGER PRIMARY KEY AUTOINCREMENT, boot INTEGER NOT NULL REFERENCES boots,
            monotonic INTEGER NOT NULL, wall INTEGER NOT NULL, transport TEXT, transportMessageID TEXT,
            isRedelivered INTEGER NOT NULL, payload BLOB NOT NULL) STRICT;
        CREATE TABLE inboxProgress (payload INTEGER PRIMARY KEY REFERENCES inbox ON DELETE CASCADE,
            attempts INTEGER NOT NULL, isInFlight INTEGER NOT NULL, crashes INTEGER NOT NULL,
            crashedAlone INTEGER NOT NULL) STRICT;
        CREATE TABLE inboxHandled (payload INTEGER NOT NULL REFERENCES inbox ON DELETE CASCADE,
            position INTEGER NOT NULL, route TEXT NOT NULL, PRIMARY KEY (payload, position)) STRICT, WITHOUT ROWID;
        PRAGMA user_version = 2;
        UPDATE deadLetters SET attempts = 3, cause = 'Refused';
        INSERT INTO inbox VALUES (6, 3, 0, \(future), 'fcm', NULL, 0, x'0405');
        INSERT INTO inboxProgress VALUES (6, 2, 1, 0, 0);
        INSERT INTO inboxHandled VALUES (6, 0, 'a')
        """
    /// What version 3 made of those tables, as it was released, and a row in its own.
    private static let version3 = """
        CREATE TABLE breakers (number INTEGER PRIMARY KEY, isWide INTEGER NOT NULL, first INTEGER NOT NULL,
            second INTEGER NOT NULL, coolDown INTEGER NOT NULL, boot INTEGER NOT NULL REFERENCES boots,
            monotonic INTEGER NOT NULL, wall INTEGER NOT NULL, UNIQUE (isWide, first, second)) STRICT;
        PRAGMA user_version = 3;
        INSERT INTO breakers VALUES (1, 0, 1, 2, 60000000000, 3, 0, \(future))
        """
    /// By the wall clock of a year to come, so that after the reboot the messages are new.
    private static let future: Int64 = 4_000_000_000_000_000_000
}
#endif
