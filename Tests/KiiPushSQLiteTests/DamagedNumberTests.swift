#if SQLite
import KiiPush
import KiiPushDelivery
import Testing

@testable import KiiPushSQLite

/// Values that a flipped bit has made impossible, of which SQLite says nothing.
struct DamagedNumberTests {
    struct Damage: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let sql: String
    }

    static let damages = [
        Damage(
            testDescription: "the inbox's last number",
            sql: "DELETE FROM inbox; UPDATE sqlite_sequence SET seq = -5 WHERE name = 'inbox'"),
        Damage(
            testDescription: "the dead letters' last number",
            sql: "DELETE FROM deadLetters; UPDATE sqlite_sequence SET seq = -5 WHERE name = 'deadLetters'"),
        Damage(testDescription: "how often it was opened", sql: "UPDATE service SET opened = -5"),
        Damage(testDescription: "an answer's number", sql: "UPDATE answers SET payload = -3"),
        Damage(testDescription: "a dead letter's number", sql: "UPDATE deadLetters SET id = -3"),
        Damage(testDescription: "a dead letter's reason", sql: "UPDATE deadLetters SET reason = 'faiLed'"),
    ]

    private let folder: StateFolder
    private let directory: String

    init() throws {
        folder = try StateFolder()
        directory = folder.next()
    }

    private func fill(_ damage: String) async throws {
        let database = try SQLiteDatabase(directory: directory)
        let inbox = try SQLiteInbox(database)
        let ids = try inbox.add([RawPayload([1]), RawPayload([2])])
        let answer = UnsentAnswer(id: ids[0], sender: "s", payload: RawPayload([1]), answer: .failed("no"))
        try SQLiteSeenStore(writtenBy: inbox).handle(.numbered(1), at: .seconds(0))
        try await inbox.record([.answer(answer), .ended(ids[0])])
        _ = try SQLiteDeadLetterStore(database).add(Self.letter)
        try database.withConnection { connection throws(SQLiteError) in
            try connection.script("PRAGMA foreign_keys = OFF; \(damage)")
        }
        database.close()
    }

    private static let letter = DeadLetter(
        payload: RawPayload([3]), reason: .failed, routes: [], arrivedAt: .seconds(0))

    /// Has each store read and write what a service does.
    private func use(_ database: SQLiteDatabase) async throws {
        let inbox = try SQLiteInbox(database)
        let letters = try SQLiteDeadLetterStore(writtenBy: inbox)
        let seen = try SQLiteSeenStore(writtenBy: inbox)
        _ = try inbox.entries()
        _ = try inbox.answers(of: "s", limit: 10)
        let id = try inbox.add([RawPayload([4])])[0]
        try seen.handle(.numbered(Int(database.openings)), at: .seconds(0))
        try await inbox.record(.ended(id))
        _ = try letters.add(Self.letter)
        _ = try letters.letters()
    }

    @Test("a database with an impossible number is healed, and still knows what was handled", arguments: damages)
    func healed(_ damage: Damage) async throws {
        try await fill(damage.sql)
        for isNew in [true, false] {
            let database = try SQLiteDatabase(healing: directory)
            #expect(database.healing?.isNew == isNew)
            #expect(database.healing?.seen.rows == 1, "what is remembered of a message, with its secret")
            try await use(database)
            database.close()
        }
    }

    @Test("without healing, its stores say that it is damaged", arguments: damages)
    func refused(_ damage: Damage) async throws {
        try await fill(damage.sql)
        await #expect(throws: SQLiteError.corrupt(path: "\(directory)/kiipush.db")) {
            try await use(try SQLiteDatabase(directory: directory))
        }
    }
}
#endif
