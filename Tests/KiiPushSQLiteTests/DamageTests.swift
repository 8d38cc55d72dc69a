#if SQLite
import Foundation
import Glibc
import KiiPush
import KiiPushDelivery
import KiiPushSystem
import Synchronization
import Testing

@testable import KiiPushSQLite

/// What is found wrong with a database that is open already.
struct LaterDamageTests {
    private let folder = StateFolder()

    /// What somebody does to the files of a database that is in use.
    enum Mishap: String, CaseIterable, CustomTestStringConvertible {
        case overwritten, removed, replaced, emptied, withoutLog

        var testDescription: String { rawValue }

        func happen(to file: String) throws {
            switch self {
            case .overwritten:
                let handle = try #require(FileHandle(forWritingAtPath: file))
                let pages = Int(try handle.seekToEnd()) / 4096
                try handle.seek(toOffset: 4096)
                try handle.write(contentsOf: Data(repeating: 0x5A, count: (pages - 1) * 4096))
                try handle.close()
            case .removed: try FileManager.default.removeItem(atPath: file)
            case .replaced:
                try FileManager.default.copyItem(atPath: file, toPath: file + ".copy")
                #expect(unsafe rename(file + ".copy", file) == 0)
            case .emptied: #expect(unsafe truncate(file, 0) == 0)
            case .withoutLog: try FileManager.default.removeItem(atPath: file + "-wal")
            }
        }
    }

    @Test(
        "once the open files are found damaged or gone, nothing is taken in any more, and that is told once",
        arguments: Mishap.allCases)
    func damage(_ mishap: Mishap) async throws {
        let directory = folder.next()
        // What an earlier opening has left lies in the file, and not in the log; and it is more than SQLite's cache
        // keeps.
        do {
            let database = try SQLiteDatabase(directory: directory)
            _ = try SQLiteInbox(database).add((1...40).map { RawPayload([UInt8](repeating: $0, count: 120_000)) })
            database.close()
        }
        let database = try SQLiteDatabase(directory: directory)
        let inbox = try SQLiteInbox(database)
        let told = Mutex<[SQLiteError]>([])
        database.onDamage { error in told.withLock { $0.append(error) } }
        #expect(try inbox.add([RawPayload([0x7B, 0x7D])]).count == 1)
        #expect(told.withLock { $0 }.isEmpty)
        try mishap.happen(to: database.path)
        let path = database.path
        let expected: SQLiteError = mishap == .overwritten ? .corrupt(path: path) : .emptied(path: path)
        // A page that SQLite has in its cache it does not read again.
        var failure: SQLiteError?
        for id in 1...40 as ClosedRange<UInt64> where failure == nil {
            do { _ = try inbox.entries(of: [id]) } catch let error as SQLiteError { failure = error }
        }
        #expect(failure == expected)
        let log = try Data(contentsOf: URL(filePath: path + (mishap == .withoutLog ? "" : "-wal")))
        for _ in 1...2 { #expect(throws: expected) { try inbox.add([RawPayload([0x7B, 0x7D])]) } }
        await #expect(throws: expected) { try await inbox.record([.begun(1, attempt: 1)]) }
        #expect(told.withLock { $0 } == [expected])
        let late = Mutex<[SQLiteError]>([])
        database.onDamage { error in late.withLock { $0.append(error) } }
        #expect(late.withLock { $0 } == [expected])
        database.close()
        // Closing has written nothing, so that a healing finds all that was there.
        #expect(try Data(contentsOf: URL(filePath: path + (mishap == .withoutLog ? "" : "-wal"))) == log)
    }

    @Test("files that cannot be looked at for a while are not lost: they take payloads again afterwards")
    func unreachable() throws {
        let (directory, link) = (folder.next(), folder.path + "/link")
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: directory)
        let database = try SQLiteDatabase(directory: link)
        let inbox = try SQLiteInbox(database)
        let told = Mutex<[SQLiteError]>([])
        database.onDamage { error in told.withLock { $0.append(error) } }
        #expect(try inbox.add([RawPayload([0x7B, 0x7D])]).count == 1)
        // A link to itself fails for root too, whom no permission stops.
        try FileManager.default.removeItem(atPath: link)
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: link)
        let expected = SQLiteError.cannotOpen(path: database.path, ErrorNumber(rawValue: ELOOP))
        #expect(throws: expected) { try inbox.add([RawPayload([0x7B, 0x7D])]) }
        try FileManager.default.removeItem(atPath: link)
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: directory)
        #expect(try inbox.add([RawPayload([0x7B, 0x7D])]).count == 1)
        #expect(told.withLock { $0 }.isEmpty)
        database.close()
    }
}

/// Values that a flipped bit has made impossible, of which SQLite says nothing.
struct DamagedNumberTests {
    /// What is damaged, and how.
    static let damages = [
        ("the inbox's last number", "DELETE FROM inbox; UPDATE sqlite_sequence SET seq = -5 WHERE name = 'inbox'"),
        (
            "the dead letters' last number",
            "DELETE FROM deadLetters; UPDATE sqlite_sequence SET seq = -5 WHERE name = 'deadLetters'"
        ),
        ("a payload's number", "UPDATE inbox SET id = -1"),
        ("a payload's number that was never assigned", "UPDATE inbox SET id = 99"),
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
