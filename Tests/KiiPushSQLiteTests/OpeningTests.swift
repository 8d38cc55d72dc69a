#if SQLite
import Foundation
import KiiPush
import KiiPushAgent
import KiiPushSystem
import Testing

@testable import KiiPushSQLite

/// What a database refuses to open, and what it says then.
struct OpeningTests {
    private let folder = StateFolder()
    private var directory: String { folder.directory }
    private var file: String { "\(directory)/kiipush.db" }

    /// Why it is not opened, nor healed, but left as it is; nil where it is opened.
    private func refusal() -> SQLiteError? {
        let before = bytes
        let errors = [false, true].map { heals -> SQLiteError? in
            do throws(SQLiteError) {
                _ = try heals ? SQLiteDatabase(healing: directory) : SQLiteDatabase(directory: directory)
                return nil
            } catch {
                return error
            }
        }
        #expect(errors[0] == errors[1] && (errors[0] == nil || bytes == before))
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        #expect(!names.contains { $0.contains("damaged") || $0.contains("new") })
        return errors[0]
    }

    /// What is in the file; nil where it is no regular one, such as a pipe that would be waited for.
    private var bytes: Data? {
        let type = try? FileManager.default.attributesOfItem(atPath: file)[.type] as? FileAttributeType
        return type == .typeRegular ? FileManager.default.contents(atPath: file) : nil
    }

    private func mode(_ path: String) throws -> Int {
        try #require(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int)
    }

    @Test("the directory is made for its owner alone, and so are all files in it")
    func modes() throws {
        let database = try SQLiteDatabase(directory: "\(directory)/below")
        try SQLiteSeenStore(database).handle(.numbered(1), at: .seconds(0))
        #expect(try mode(directory) == 0o700 && mode("\(directory)/below") == 0o700)
        let names = try FileManager.default.contentsOfDirectory(atPath: "\(directory)/below").sorted()
        #expect(names == ["", "-shm", "-wal", ".lock", ".made", ".spare"].map { "kiipush.db\($0)" })
        for name in names { #expect(try mode("\(directory)/below/\(name)") == 0o600) }
    }

    @Test("a commit is durable: the settings that make it so are on")
    func settings() throws {
        let values = try SQLiteDatabase(directory: directory).withConnection { connection throws(SQLiteError) in
            [
                try connection.text("PRAGMA journal_mode"), try connection.text("PRAGMA synchronous"),
                try connection.text("PRAGMA foreign_keys"), try connection.text("PRAGMA trusted_schema"),
                try connection.text("PRAGMA busy_timeout"), try connection.text("PRAGMA user_version"),
            ]
        }
        #expect(values == ["wal", "2", "1", "0", "1000", "\(Schema.migrations.count)"])
    }

    @Test("it is opened once, by one process and by one owner in it")
    func once() async throws {
        var first: SQLiteDatabase? = try SQLiteDatabase(directory: directory)
        #expect(refusal() == .inUse(path: file))
        await #expect(processExitsWith: .exitCode(7)) { [directory = directory as String] in
            do throws(SQLiteError) { _ = try SQLiteDatabase(directory: directory) } catch {
                exit(error == .inUse(path: "\(directory)/kiipush.db") ? 7 : 8)
            }
        }
        first?.close()
        #expect(refusal() == nil)
        first = nil
        await #expect(processExitsWith: .success) { [directory = directory as String] in
            _ = try SQLiteDatabase(directory: directory)
        }
    }

    @Test(
        "a file that others may read or write is refused, and so is a directory that others may write to",
        arguments: [0o640, 0o604, 0o660, 0o602])
    func openToOthers(mode: Int) throws {
        try SQLiteDatabase(directory: directory).close()
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
        #expect(refusal() == .openToOthers(path: file, mode: UInt32(mode)))
        #expect(try self.mode(file) == mode)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
        #expect(refusal() == nil)
        for mode in [0o720, 0o702, 0o777] {
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: directory)
            #expect(refusal() == .openToOthers(path: directory, mode: UInt32(mode)))
        }
        // As systemd makes it.
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: directory)
        #expect(refusal() == nil)
    }

    @Test("anything but a regular file is refused", arguments: ["directory", "link", "pipe"])
    func noFile(kind: String) throws {
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: directory)
        switch kind {
        case "directory": try FileManager.default.createDirectory(atPath: file, withIntermediateDirectories: false)
        case "link":
            try FileManager.default.createSymbolicLink(atPath: file, withDestinationPath: "\(folder.path)/other")
        default: #expect(unsafe mkfifo(file, 0o600) == 0)
        }
        #expect(refusal() == .notAFile(path: file))
        #expect(!FileManager.default.fileExists(atPath: "\(folder.path)/other"))
    }

    @Test("a directory that cannot be made is refused")
    func noDirectory() throws {
        _ = FileManager.default.createFile(atPath: directory, contents: nil)
        #expect(refusal() == .cannotOpen(path: directory, .init(rawValue: ENOTDIR)))
        #expect(throws: SQLiteError.self) { try SQLiteDatabase(directory: "") }
        #expect(throws: SQLiteError.self) { try SQLiteDatabase(directory: "\(folder.path)/a\u{0}b") }
    }

    @Test("a file of a newer release is refused, and left as it is")
    func newer() throws {
        try SQLiteDatabase(directory: directory).edit("PRAGMA user_version = 99")
        #expect(refusal() == .newerSchema(path: file, version: 99, newestKnown: Schema.migrations.count))
    }

    @Test(
        "another program's file is refused, and left as it is",
        arguments: ["PRAGMA application_id = 0", "PRAGMA application_id = 42"])
    func foreign(change: String) throws {
        try SQLiteDatabase(directory: directory).edit("\(change); PRAGMA journal_mode = DELETE")
        #expect(refusal() == .foreignDatabase(path: file))
    }

    @Test("a database that was closed says so, and has forgotten nothing")
    func closed() throws {
        let database = try SQLiteDatabase(directory: directory)
        let store = try SQLiteSeenStore(database)
        let letters = try SQLiteDeadLetterStore(database)
        let lease = try store.lease(.numbered(1))
        database.close()
        database.close()
        for _ in 0..<2 {
            #expect(throws: SQLiteError.closed(path: file)) { try store.commit(lease, now: .seconds(0)) }
        }
        #expect(store.counts?.inFlight == 1)
        #expect(throws: SQLiteError.closed(path: file)) { try letters.letters() }
        #expect(throws: SQLiteError.closed(path: file)) { try SQLiteSeenStore(database) }
        store.release(lease)
        #expect(store.counts?.inFlight == 0)
    }

    @Test("a database has one store of each kind at a time")
    func oneStore() throws {
        let database = try SQLiteDatabase(directory: directory)
        var seen: SQLiteSeenStore? = try SQLiteSeenStore(database)
        var letters: SQLiteDeadLetterStore? = try SQLiteDeadLetterStore(database)
        var inbox: SQLiteInbox? = try SQLiteInbox(database)
        #expect(throws: SQLiteError.storeInUse(path: file, kind: "inbox")) { try SQLiteInbox(database) }
        #expect(throws: SQLiteError.storeInUse(path: file, kind: "seen")) { try SQLiteSeenStore(database) }
        #expect(throws: SQLiteError.storeInUse(path: file, kind: "dead-letter")) { try SQLiteDeadLetterStore(database) }
        #expect(seen?.counts?.inFlight == 0 && letters != nil && inbox?.isDurable == true)
        #expect("\(SQLiteError.storeInUse(path: "a", kind: "inbox"))" == "a: has an inbox already; share that one")
        (seen, letters, inbox) = (nil, nil, nil)
        _ = try SQLiteSeenStore(database)
        _ = try SQLiteDeadLetterStore(database)
        _ = try SQLiteInbox(database)
    }

    @Test(
        "each error is one line that names the file and has no control characters",
        arguments: [
            .cannotOpen(path: "a\nb", .init(rawValue: EACCES)), .inUse(path: "a\nb"), .notAFile(path: "a\nb"),
            .foreignOwner(path: "a\nb"), .openToOthers(path: "a\nb", mode: 0o644), .foreignDatabase(path: "a\nb"),
            .newerSchema(path: "a\nb", version: 2, newestKnown: 1), .emptied(path: "a\nb"),
            .notDurable(path: "a\nb", setting: "WAL"),
            .corrupt(path: "a\nb"), .full(path: "a\nb"), .inputOutput(path: "a\nb", .init(rawValue: EIO), code: 778),
            .busy(path: "a\nb"), .closed(path: "a\nb"), .storeInUse(path: "a\nb", kind: "seen"),
            .refused(path: "a\nb", code: 19),
        ] as [SQLiteError])
    func errors(error: SQLiteError) {
        #expect("\(error)".hasPrefix(#"a\nb: "#))
        #expect(!"\(error)".contains("\n") && "\(error)".count > 20)
    }
}

extension SQLiteDatabase {
    fileprivate func edit(_ sql: String) throws {
        try run(sql)
        close()
    }
}
#endif
