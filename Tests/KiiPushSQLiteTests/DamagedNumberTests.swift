#if SQLite
import KiiPush
import KiiPushDelivery
import Testing

@testable import KiiPushSQLite

/// Values that a flipped bit has made impossible, of which SQLite says nothing.
struct DamagedNumberTests {
    /// What is damaged, and how.
    static let damages = [
        ("the inbox's last number", "DELETE FROM inbox; UPDATE sqlite_sequence SET seq = -5 WHERE name = 'inbox'"),
        (
            "the dead letters' last number",
            "DELETE FROM deadLetters; UPDATE sqlite_sequence SET seq = -5 WHERE name = 'deadLetters'"
        ),
        ("how often it was opened", "UPDATE service SET opened = -5"),
        ("an answer's number", "UPDATE answers SET payload = -3"),
        ("a dead letter's number", "UPDATE deadLetters SET id = -3"),
        ("a dead letter's reason", "UPDATE deadLetters SET reason = 'faiLed'"),
    ]

    private let folder = StateFolder()
    private var directory: String { folder.directory }

    private func fill(_ damage: String) async throws {
        let database = try SQLiteDatabase(directory: directory)
        let inbox = try SQLiteInbox(database)
        let ids = try inbox.add([RawPayload([1]), RawPayload([2])])
        let answer = UnsentAnswer(id: ids[0], sender: "s", payload: RawPayload([1]), answer: .failed("no"))
        try SQLiteSeenStore(writtenBy: inbox).handle(.numbered(1), at: .seconds(0))
        try await inbox.record([.answer(answer), .ended(ids[0])])
        _ = try SQLiteDeadLetterStore(database).add(Self.letter)
        try database.run("PRAGMA foreign_keys = OFF; \(damage)")
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
        try seen.handle(.numbered(Int(database.service.openings)), at: .seconds(0))
        try await inbox.record(.ended(id))
        _ = try letters.add(Self.letter)
        _ = try letters.letters()
    }

    @Test("a database with an impossible number is healed, and still knows what was handled", arguments: damages)
    func healed(what: String, sql: String) async throws {
        try await fill(sql)
        for isNew in [true, false] {
            let database = try SQLiteDatabase(healing: directory)
            #expect(database.healing?.isNew == isNew)
            #expect(database.healing?.seen.rows == 1, "what is remembered of a message, with its secret")
            try await use(database)
            database.close()
        }
    }

    @Test("without healing, its stores say that it is damaged", arguments: damages)
    func refused(what: String, sql: String) async throws {
        try await fill(sql)
        await #expect(throws: SQLiteError.corrupt(path: "\(directory)/kiipush.db")) {
            try await use(try SQLiteDatabase(directory: directory))
        }
    }
}
#endif
