#if SQLite
import Foundation
import Glibc
import KiiPush
import Synchronization
import Testing

import KiiPushDelivery
import KiiPushSystem
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
#endif
