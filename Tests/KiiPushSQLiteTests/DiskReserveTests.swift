#if SQLite
import Glibc
import KiiPush
import KiiPushDelivery
import KiiPushSystem
import Synchronization
import Testing

@testable import KiiPushSQLite

@Suite("an inbox that must not fill its own disk", .timeLimit(.minutes(5)))
struct DiskReserveTests {
    /// A disk of its own; nil where none can be mounted, which takes root.
    private final class Disk {
        let path: String
        private let folder = StateFolder()

        init?(megabytes: Int) throws {
            path = folder.next()
            unsafe mkdir(path, 0o700)
            guard unsafe mount("none", path, "tmpfs", 0, "size=\(megabytes)m,mode=700") == 0 else { return nil }
        }

        /// One of 6 MB with blocks of this size.
        init?(block: Int) throws {
            path = folder.next()
            unsafe mkdir(path, 0o700)
            let script = """
                truncate -s 6M '\(path).image' && mkfs.ext4 -q -O ^has_journal -m 0 -b \(block) -F '\(path).image' &&
                mount -o loop '\(path).image' '\(path)' && rmdir '\(path)/lost+found' && chmod 700 '\(path)'
                """
            guard try ChildProcess.run("/bin/sh", ["-c", script], limit: .seconds(30)) == .exited(0) else { return nil }
        }

        /// Takes all of its space.
        func fill() {
            let file = unsafe open("\(path)/filler", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
            let bytes = [UInt8](repeating: 1, count: 1024)
            while unsafe write(file, bytes, bytes.count) > 0 {}
            close(file)
        }

        deinit { unsafe umount2(path, Int32(MNT_DETACH)) }
    }

    private func payload(_ number: Int) -> RawPayload {
        RawPayload([UInt8](repeating: UInt8(number & 0x7F), count: 2000))
    }

    @Test(
        "on a small disk intake is refused while all that is there can still end, again and again",
        .enabled(if: geteuid() == 0, "only root can mount a disk"), arguments: [1, 3, 16])
    func smallDisk(megabytes: Int) async throws {
        let disk = try #require(try Disk(megabytes: megabytes))
        let database = try SQLiteDatabase(directory: disk.path)
        let changes = Mutex<[String]>([])
        let shortages = Shortages({ change in changes.withLock { $0.append("\(change)".prefix(9).description) } })
        let inbox = try SQLiteInbox(database, shortages: shortages)
        let seen = try SQLiteSeenStore(writtenBy: inbox, window: SeenWindow(count: 70))
        var number = 0
        for round in 0..<3 {
            var ids: [UInt64] = []
            while ids.count < 20_000 {
                do { ids += try inbox.add([payload(number)]) } catch is InboxNoRoom { break }
                number += 1
            }
            #expect((10..<20_000).contains(ids.count), "\(ids.count)")
            #expect(shortages.current.map(\.kind) == [.disk])
            for id in ids {
                try await inbox.record([.begun(id, attempt: 1)])
                try seen.handle(.numbered(Int(id)), at: .seconds(0))
                try await inbox.record([.ended(id)])
            }
            #expect(inbox.count == 0 && shortages.current.isEmpty, "round \(round)")
        }
        #expect(changes.withLock { $0 } == (1...3).flatMap { _ in ["short of ", "no longer"] })
    }

    @Test("a full disk gives back a spare file when the database is opened, and has it again when that is closed")
    func spare() throws {
        let folder = StateFolder()
        let spare = "\(folder.directory)/kiipush.db.spare"
        for free in [Int64.max, 0, .max, 262_143, 262_144] {
            let database = try SQLiteDatabase(
                directory: folder.directory, machine: MachineTime.now, free: { _ in free })
            let isThere = unsafe access(spare, F_OK) == 0
            #expect(isThere == (free >= 262_144), "\(free)")
            database.close()
            var status = stat()
            #expect(unsafe stat(spare, &status) == 0 && status.st_blocks * 512 >= 262_144)
        }
    }

    @Test(
        "on a full disk the database opens again and again, also after a kill; without its spare file it says why not",
        .enabled(
            if: unsafe geteuid() == 0 && access("/dev/loop-control", F_OK) == 0,
            "only root can mount an image, by a loop device"), arguments: [1024, 4096])
    func fullDisk(block: Int) async throws {
        let disk = try #require(try Disk(block: block))
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = disk.path as String] in
            let database = try SQLiteDatabase(directory: path)
            try SQLiteSeenStore(database).handle(.numbered(0), at: .seconds(0))
            kill(getpid(), SIGKILL)
        }
        for round in 1...3 {
            disk.fill()
            let database = try SQLiteDatabase(directory: disk.path)
            try SQLiteSeenStore(database).handle(.numbered(round), at: .seconds(0))
            database.close()
        }
        #expect(unsafe unlink("\(disk.path)/kiipush.db.spare") == 0)
        disk.fill()
        #expect(throws: SQLiteError.full(path: "\(disk.path)/kiipush.db")) { try SQLiteDatabase(directory: disk.path) }
    }

    @Test(
        "on a full disk all dead letters can be dropped, one after another",
        .enabled(if: geteuid() == 0, "only root can mount a disk"))
    func dropsAll() throws {
        let disk = try #require(try Disk(megabytes: 3))
        let database = try SQLiteDatabase(directory: disk.path)
        do {
            let letters = try SQLiteDeadLetterStore(database)
            for number in 0..<100 {
                _ = try letters.add(
                    DeadLetter(payload: payload(number), reason: .failed, routes: ["r"], arrivedAt: .seconds(0)))
            }
        }
        database.close()
        disk.fill()
        let letters = try SQLiteDeadLetterStore(SQLiteDatabase(directory: disk.path))
        for letter in try letters.letters() { #expect(try letters.remove(letter)) }
        #expect(letters.count == 0)
    }
}

@Suite("a check of an inbox, which fails where a payload would", .timeLimit(.minutes(5)))
struct InboxCheckTests {
    private let folder = StateFolder()
    private var directory: String { folder.directory }

    /// Whether a check and a payload meet the same.
    private func isSame(_ inbox: SQLiteInbox) -> (check: String?, add: String?) {
        func error(_ body: () throws -> Void) -> String? {
            do { try body() } catch { return "\(type(of: error))" }
            return nil
        }
        return (error { try inbox.check() }, error { _ = try inbox.add([RawPayload("{}")]) })
    }

    @Test("a check changes nothing while the inbox works")
    func works() throws {
        do {
            let inbox = try SQLiteInbox(SQLiteDatabase(directory: directory))
            _ = try inbox.add([RawPayload("{}")])
            for _ in 1...3 { try inbox.check() }
            #expect(inbox.count == 1)
        }
        let database = try SQLiteDatabase(directory: directory)
        #expect(database.service.openings == 2)
        #expect(try SQLiteInbox(database).entries().count == 1)
    }

    @Test("a check fails while another program locks the file, and no longer")
    func locked() throws {
        let inbox = try SQLiteInbox(SQLiteDatabase(directory: directory))
        var other = try Connection(path: inbox.database.path)
        try other.run("BEGIN IMMEDIATE")
        #expect(isSame(inbox) == ("SQLiteError", "SQLiteError"))
        try other.run("ROLLBACK")
        #expect(isSame(inbox) == (nil, nil))
    }

    @Test("a check fails while the inbox is full, or the disk")
    func full() throws {
        let shortages = Shortages()
        let inbox = try SQLiteInbox(SQLiteDatabase(directory: directory), capacity: 1, shortages: shortages)
        // What another program has taken of the disk keeps payloads out until it gives it back.
        inbox.reserve.withLock { $0?.free = { _ in 1 << 20 } }
        #expect(isSame(inbox) == ("InboxNoRoom", "InboxNoRoom"))
        #expect(shortages.isShort(of: .disk))
        inbox.reserve.withLock { $0?.free = { _ in .max } }
        try inbox.check()
        #expect(!shortages.isShort(of: .disk))
        #expect(isSame(inbox) == (nil, nil))
        #expect(isSame(inbox) == ("InboxFull", "InboxFull"))
    }

    @Test("a check fails when the folder is gone, and when the database is closed")
    func gone() throws {
        let database = try SQLiteDatabase(directory: directory)
        let inbox = try SQLiteInbox(database)
        #expect(unsafe rename(directory, directory + "-away") == 0)
        #expect(throws: SQLiteError.self) { try inbox.check() }
        #expect(throws: SQLiteError.self) { try inbox.add([RawPayload("{}")]) }
        database.close()
        #expect(throws: SQLiteError.self) { try inbox.check() }
    }

    @Test("a check fails while the disk takes no writes", arguments: [true, false])
    func broken(isFull: Bool) async throws {
        await #expect(processExitsWith: .exitCode(0)) { [path = folder.path as String, isFull = isFull as Bool] in
            FaultyDisk.install()
            let inbox = try SQLiteInbox(SQLiteDatabase(directory: "\(path)/state"))
            FaultyDisk.plan(FaultyDisk.Fault(call: 1, lasts: true, isFull: isFull))
            if (try? inbox.check()) != nil { exit(2) }
            if (try? inbox.add([RawPayload("{}")])) != nil { exit(3) }
            FaultyDisk.plan(nil)
            try inbox.check()
            _ = try inbox.add([RawPayload("{}")])
            exit(0)
        }
    }
}
#endif
