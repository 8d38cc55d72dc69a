#if SQLite
import Foundation
import KiiPush
import KiiPushDelivery
import KiiPushTesting
import Testing

@testable import KiiPushSQLite

/// What becomes of a file that the first release wrote.
struct MigrationTests {
    private let folder = StateFolder()
    private var directory: String { folder.directory }

    /// Writes a file as the first release did, with a row in each table and a dead letter's number that was used before.
    private func makeFirst() throws {
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        let path = "\(directory)/kiipush.db"
        #expect(FileManager.default.createFile(atPath: path, contents: nil, attributes: [.posixPermissions: 0o600]))
        var connection = try Connection(path: path)
        try connection.script("PRAGMA journal_mode = WAL; BEGIN; \(Self.tables); \(Self.rows); COMMIT")
    }

    @Test("a file of the first release keeps all that is in it, and takes what is new")
    func first() async throws {
        try makeFirst()
        for round in 1...2 {
            let database = try SQLiteDatabase(directory: directory)
            let openings = database.service.openings
            #expect(database.secret == DedupeSecret(11, UInt64(bitPattern: -12)) && openings == 7 + Int64(round))
            let seen = try SQLiteSeenStore(database, clock: ManualClock())
            #expect(seen.counts == SeenCounts(strong: .init(remembered: 1), weak: .init(remembered: 1)))
            #expect(seen.isDone(.numbered(1), at: .seconds(0)))
            let letters = try SQLiteDeadLetterStore(database)
            let old = try #require(try letters.letters().first)
            #expect(old.id == 4 && old.reason == .backlogFull && old.routes == ["a", "b"])
            #expect(old.payload.bytes == [1, 2, 3] && old.payload.transport == .mqtt && old.payload.isRedelivered)
            #expect(old.receivedAt == 1_800_000_000_000 && old.count == 3)
            #expect(old.attempts == 5 && old.cause == "Refused")
            let inbox = try SQLiteInbox(database)
            let entry = try #require(try inbox.entries().first)
            #expect(entry.id == 6 && entry.payload.bytes == [4, 5] && entry.payload.mqtt?.topic == "t")
            // In flight when that process ended.
            #expect(entry.attempts == 2 && entry.handled == ["a"] && entry.crashes == 1 && entry.crashedAlone)
            let answer = try #require(try inbox.answers(of: "mqtt", limit: 9).first)
            #expect(answer.id == 3 && answer.answer == .failed("no") && answer.payload.bytes == [7])
            let number = UInt64(round) + 6
            #expect(try inbox.add([RawPayload([1])]) == [number])
            try await inbox.record(.ended(number))
            #expect(try letters.letters().dropFirst().map(\.id) == (round == 1 ? [] : [6]))
            var new = DeadLetter(payload: RawPayload([9]), reason: .failed, routes: ["c"], arrivedAt: .seconds(0))
            new.keys = [DeadLetter.Key(first: .max, second: 7)]
            #expect(try letters.add(new) == 6 + UInt64(round - 1))
            database.close()
        }
    }

    @Test("a reason that this release does not know makes the letters unreadable, and loses none")
    func unknownReason() throws {
        try makeFirst()
        let database = try SQLiteDatabase(directory: directory)
        try database.run("UPDATE deadLetters SET reason = 'ofAnotherTime'")
        let letters = try SQLiteDeadLetterStore(database)
        #expect(throws: SQLiteError.corrupt(path: database.path)) { try letters.letters() }
        #expect(letters.count == 1)
    }

    /// The tables as they were released.
    private static let tables = """
        CREATE TABLE service (id INTEGER PRIMARY KEY CHECK (id = 1), secretFirst INTEGER NOT NULL,
            secretSecond INTEGER NOT NULL, opened INTEGER NOT NULL) STRICT;
        CREATE TABLE boots (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE) STRICT;
        CREATE TABLE seen (strength INTEGER NOT NULL, number INTEGER NOT NULL, first INTEGER NOT NULL,
            second INTEGER NOT NULL, otherFirst INTEGER, otherSecond INTEGER, boot INTEGER NOT NULL REFERENCES boots,
            monotonic INTEGER NOT NULL, wall INTEGER NOT NULL, PRIMARY KEY (strength, number)) STRICT, WITHOUT ROWID;
        CREATE TABLE deadLetters (id INTEGER PRIMARY KEY AUTOINCREMENT, reason TEXT NOT NULL,
            boot INTEGER NOT NULL REFERENCES boots, monotonic INTEGER NOT NULL, wall INTEGER NOT NULL, transport TEXT,
            transportMessageID TEXT, isRedelivered INTEGER NOT NULL, payloadArrivedAfter INTEGER,
            payload BLOB NOT NULL, attempts INTEGER NOT NULL DEFAULT 0, rulesGeneration INTEGER NOT NULL DEFAULT 0,
            cause TEXT, count INTEGER NOT NULL DEFAULT 1, bytesLost INTEGER NOT NULL DEFAULT 0,
            firstBoot INTEGER REFERENCES boots, firstMonotonic INTEGER, firstWall INTEGER, mqtt TEXT) STRICT;
        CREATE TABLE deadLetterRoutes (letter INTEGER NOT NULL REFERENCES deadLetters ON DELETE CASCADE,
            position INTEGER NOT NULL, route TEXT NOT NULL, PRIMARY KEY (letter, position)) STRICT, WITHOUT ROWID;
        CREATE TABLE deadLetterKeys (letter INTEGER NOT NULL REFERENCES deadLetters ON DELETE CASCADE,
            position INTEGER NOT NULL, first INTEGER NOT NULL, second INTEGER NOT NULL,
            PRIMARY KEY (letter, position)) STRICT, WITHOUT ROWID;
        CREATE TABLE inbox (id INTEGER PRIMARY KEY AUTOINCREMENT, boot INTEGER NOT NULL REFERENCES boots,
            monotonic INTEGER NOT NULL, wall INTEGER NOT NULL, transport TEXT, transportMessageID TEXT,
            isRedelivered INTEGER NOT NULL, payload BLOB NOT NULL, mqtt TEXT) STRICT;
        CREATE TABLE inboxProgress (payload INTEGER PRIMARY KEY REFERENCES inbox ON DELETE CASCADE,
            attempts INTEGER NOT NULL, isInFlight INTEGER NOT NULL, crashes INTEGER NOT NULL,
            crashedAlone INTEGER NOT NULL) STRICT;
        CREATE TABLE inboxHandled (payload INTEGER NOT NULL REFERENCES inbox ON DELETE CASCADE,
            position INTEGER NOT NULL, route TEXT NOT NULL, answer TEXT,
            PRIMARY KEY (payload, position)) STRICT, WITHOUT ROWID;
        CREATE TABLE answers (payload INTEGER PRIMARY KEY, sender TEXT NOT NULL, transport TEXT,
            command BLOB NOT NULL, mqtt TEXT, answer TEXT NOT NULL) STRICT;
        PRAGMA application_id = \(0x4B69_6950);
        PRAGMA user_version = 7
        """

    private static let rows = """
        INSERT INTO service VALUES (1, 11, -12, 7);
        INSERT INTO boots VALUES (3, 'an earlier boot');
        INSERT INTO seen VALUES (1, 5, \(Int64(bitPattern: 0x9E37_79B9_7F4A_7C15)), -2, NULL, NULL, 3, 0, \(future));
        INSERT INTO seen VALUES (0, 8, 21, 22, 23, 24, 3, 0, \(future));
        INSERT INTO deadLetters VALUES (4, 'backlogFull', 3, 0, 1800000000000000000, 'mqtt', 'm1', 1, 5, x'010203', 5, 2,
            'Refused', 3, 10, 3, 0, 1700000000000000000, NULL);
        INSERT INTO deadLetters (id, reason, boot, monotonic, wall, isRedelivered, payload)
            VALUES (5, 'failed', 3, 0, 0, 0, x'00');
        DELETE FROM deadLetters WHERE id = 5;
        INSERT INTO deadLetterRoutes VALUES (4, 0, 'a'), (4, 1, 'b');
        INSERT INTO deadLetterKeys VALUES (4, 0, 1, 2);
        INSERT INTO inbox VALUES (6, 3, 0, \(future), 'fcm', NULL, 0, x'0405', '{"topic":"t"}');
        INSERT INTO inboxProgress VALUES (6, 2, 1, 0, 0);
        INSERT INTO inboxHandled VALUES (6, 0, 'a', NULL);
        INSERT INTO answers VALUES (3, 'mqtt', 'mqtt', x'07', NULL, '{"status":"failed","reason":"no"}')
        """
    /// By the wall clock of a year to come, so that after the reboot the messages are new.
    private static let future: Int64 = 4_000_000_000_000_000_000
}
#endif
