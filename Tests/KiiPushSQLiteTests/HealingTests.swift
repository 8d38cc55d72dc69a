#if SQLite
import Foundation
import KiiPush
import KiiPushDelivery
import Testing

@testable import KiiPushSQLite

/// What is saved of a database that is damaged or empty, and that nothing else is touched.
struct HealingTests {
    private let folder = StateFolder()
    private var directory: String { folder.directory }
    private var file: String { "\(directory)/kiipush.db" }

    // MARK: Damage

    @Test("with any page overwritten, only a healing open succeeds, and loses the rows of that page alone")
    func pages() throws {
        try Contents.fill(directory)
        let sound = try Data(contentsOf: URL(filePath: file))
        var (healings, last) = (0, "")
        for page in 1..<(sound.count / 4096) {
            for filling in [0x5A, 0x00] as [UInt8] {
                var bytes = sound
                bytes.replaceSubrange(page * 4096..<(page + 1) * 4096, with: Data(repeating: filling, count: 4096))
                try put(bytes)
                let opens = (try? SQLiteDatabase(directory: directory).close()) != nil
                let database = try open()
                let left = try Contents(database)
                guard let healing = database.healing, healing.damagedPath != last else {
                    // Bytes of a payload, or a page that nothing lies in: SQLite cannot see it.
                    #expect(left.letters.count == Contents.letters && left.seen == Contents.seen)
                    continue
                }
                (healings, last) = (healings + 1, healing.damagedPath)
                #expect(!opens, "page \(page)")
                #expect(healing.inbox.rows == left.payloads.count, "page \(page)")
                #expect(healing.deadLetters.rows == left.letters.count, "page \(page)")
                // What lies at the end of a long payload is not checked by anybody, and may be another's.
                #expect(left.untrue <= 1, "page \(page)")
                #expect(try Data(contentsOf: URL(filePath: healing.damagedPath)) == bytes)
                // A page may be the root of one table, and only of one.
                let whole = [healing.inbox, healing.deadLetters, healing.seen].filter(\.isWhole).count
                #expect(whole >= 2 || healing.seen.rows == 0, "page \(page): \(healing)")
            }
        }
        #expect(healings > 20)
    }

    @Test(
        "a file that was cut off is refused, and what lies in the rest is saved",
        arguments: [1, 99, 4096, 40_960, -4096])
    func truncated(count: Int) throws {
        try Contents.fill(directory)
        let sound = try Data(contentsOf: URL(filePath: file))
        try put(sound.prefix(count < 0 ? sound.count + count : count))
        let refusal: SQLiteError = count == 1 ? .emptied(path: file) : .corrupt(path: file)
        #expect(throws: refusal) { try SQLiteDatabase(directory: directory) }
        let database = try open()
        let (left, healing) = (try Contents(database), try #require(database.healing))
        // Of a file of one byte SQLite says that it is empty.
        #expect(healing.cause == (count == 1 ? .emptied : .damaged) && healing.isNew && left.areTrue)
        #expect(healing.inbox.rows == left.payloads.count && healing.deadLetters.rows == left.letters.count)
        // The last page is one of the last table, which has about a hundred rows a page.
        if count < 0 {
            #expect(left.payloads.count == Contents.payloads && left.letters.count == Contents.letters, "\(healing)")
            #expect(left.seen > 50, "\(healing)")
        }
        if (0..<4096).contains(count) { #expect(healing.inbox.rows == 0 && healing.missing != nil) }
    }

    @Test(
        "a file with a wrong header, an empty one or a missing one is put aside, and a new one begun",
        arguments: 0..<3)
    func nothing(kind: Int) throws {
        try Contents.fill(directory)
        switch kind {
        case 0:
            let sound = try Data(contentsOf: URL(filePath: file))
            try put(Data(repeating: 0xA5, count: 4096) + sound.dropFirst(4096))
        case 1: try put(Data())
        default: try FileManager.default.removeItem(atPath: file)
        }
        // Who does not heal makes no new one, which would hide it.
        let refusal: SQLiteError = kind == 0 ? .corrupt(path: file) : .emptied(path: file)
        for _ in 0..<2 { #expect(throws: refusal) { try SQLiteDatabase(directory: directory) } }
        let database = try open()
        let healing = try #require(database.healing)
        #expect(healing.cause == (kind == 0 ? .damaged : .emptied))
        #expect(healing.inbox.rows == 0 && healing.missing?.contains("dead letters") == true)
        #expect(FileManager.default.fileExists(atPath: healing.damagedPath))
        #expect("\(healing)".contains(healing.damagedPath))
        database.close()
        // A process that ended before it accepted anything has told nobody of the loss.
        let next = try open()
        #expect(next.healing == healing && healing.isNew)
        try Contents.fill(next)
        next.close()
        // Said again at each start, until the old file is removed.
        let again = try open()
        #expect(again.healing?.isNew == false && again.healing?.damagedPath == healing.damagedPath)
        #expect(try Contents(again).payloads.count == Contents.payloads)
        again.close()
        try FileManager.default.removeItem(atPath: healing.damagedPath)
        #expect(try open().healing == nil)
    }

    @Test("an empty file whose log is there is not begun anew: what lies in the log is saved")
    func logOnly() throws {
        try crash()
        try FileManager.default.removeItem(atPath: "\(directory)/kiipush.db.made")
        try put(Data())
        #expect(throws: SQLiteError.emptied(path: file)) { try SQLiteDatabase(directory: directory) }
        let database = try open()
        let (left, healing) = (try Contents(database), try #require(database.healing))
        #expect(healing.cause == .emptied && left.areTrue)
        #expect(left.payloads.count == Contents.payloads && left.letters.count == Contents.letters)
        #expect(FileManager.default.fileExists(atPath: "\(healing.damagedPath)-wal"))
    }

    @Test("with a log that was cut off, the database is as it was at some moment before")
    func tornLog() throws {
        try crash()
        let names = ["kiipush.db", "kiipush.db-wal"]
        let files = try names.map { try Data(contentsOf: URL(filePath: "\(directory)/\($0)")) }
        #expect(files[1].count > 40_000)
        var counts: [Int] = []
        for count in stride(from: 0, through: files[1].count, by: files[1].count / 16) {
            try? FileManager.default.removeItem(atPath: "\(file)-shm")
            try put(files[0])
            try files[1].prefix(count).write(to: URL(filePath: "\(file)-wal"))
            let database = try open()
            let left = try Contents(database)
            #expect(left.areTrue)
            counts.append(left.payloads.count)
        }
        #expect(counts == counts.sorted() && counts.last == Contents.payloads)
    }

    @Test("the newest three files that were put aside are kept")
    func kept() throws {
        try Contents.fill(directory)
        for count in 1...5 {
            try put(Data(repeating: 7, count: 5000 + count))
            let database = try open(later: Int64(count / 2) * 3600)
            #expect(database.healing?.isNew == true)
        }
        let sizes = try names.filter { $0.contains("damaged") && !$0.hasSuffix("-wal") && !$0.hasSuffix("-shm") }
            .map { try Data(contentsOf: URL(filePath: "\(directory)/\($0)")).count }
        #expect(sizes == [5003, 5004, 5005])
    }

    // MARK: What is not damaged

    @Test("another program that keeps the file locked is waited for, and nothing is put aside")
    func busy() throws {
        try Contents.fill(directory)
        var other = try Connection(path: file)
        try other.run("BEGIN IMMEDIATE")
        #expect(throws: SQLiteError.busy(path: file)) { try SQLiteDatabase(healing: directory) }
        #expect(try names.filter { $0.contains("damaged") } == [])
        try other.run("ROLLBACK")
        #expect(try Contents(try open()).payloads.count == Contents.payloads)
    }

    // MARK: Kills

    @Test("killed after any step, and again while it goes on, it loses nothing that could be read")
    func kills() async throws {
        let last = HealingStep.allCases.count - 1
        for first in 0...last {
            for second in [nil, first < last ? first + 1 : nil, last] as [Int?] {
                let directory = folder.next()
                try Contents.fill(directory)
                try Contents.breakSeen(directory)
                for step in [first, second].compactMap({ $0 }) {
                    // One whose step does not come, since it was done, ends well.
                    await #expect(processExitsWith: .failure) {
                        [directory = directory as String, step = step as Int] in
                        _ = try SQLiteDatabase(directory: directory, heals: true, machine: MachineTime.now) {
                            if $0 == HealingStep.allCases[step] { kill(getpid(), SIGKILL) }
                        }
                        exit(3)
                    }
                    guard step < last else { continue }
                    #expect(throws: SQLiteError.self) { try SQLiteDatabase(directory: directory) }
                }
                let database = try SQLiteDatabase(healing: directory)
                let left = try Contents(database)
                #expect(left.areTrue && left.payloads.count == Contents.payloads, "\(first), \(second ?? -1)")
                #expect(left.letters.count == Contents.letters, "\(first), \(second ?? -1)")
                let healing = try #require(database.healing)
                #expect(healing.inbox == .init(rows: Contents.payloads, isWhole: true))
                #expect(healing.deadLetters.isWhole && !healing.seen.isWhole)
                #expect(FileManager.default.fileExists(atPath: healing.damagedPath))
                #expect(!FileManager.default.fileExists(atPath: "\(directory)/kiipush.db.new"))
            }
        }
    }

    // MARK: Files

    /// Opens it as an agent does, when the wall clock is so many seconds later.
    private func open(later seconds: Int64 = 0) throws -> SQLiteDatabase {
        try SQLiteDatabase(directory: directory, heals: true) {
            var now = MachineTime.now()
            now.wall += seconds * 1_000_000_000
            return now
        }
    }

    private var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: directory).sorted() }
    }

    /// Puts bytes in the file's place, as a disk would.
    private func put(_ bytes: Data) throws {
        try bytes.write(to: URL(filePath: file))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
    }

    /// Leaves the files of a process that was killed, with all that it wrote in the log.
    private func crash() throws {
        let other = folder.next()
        let database = try SQLiteDatabase(directory: other)
        try database.run("PRAGMA wal_autocheckpoint = 0")
        try Contents.fill(database)
        try FileManager.default.copyItem(atPath: other, toPath: directory)
        database.close()
    }
}

/// What a database of these tests has, and what is left of it.
private struct Contents {
    static let payloads = 40
    static let letters = 10
    static let seen = 200

    let payloads: [InboxEntry]
    let letters: [DeadLetter]
    let seen: Int

    private static func bytes(_ number: Int) -> [UInt8] {
        [UInt8](repeating: UInt8(number), count: number.isMultiple(of: 5) ? 9000 : 700)
    }

    static func fill(_ directory: String) throws {
        let database = try SQLiteDatabase(directory: directory)
        try fill(database)
        database.close()
    }

    static func fill(_ database: SQLiteDatabase) throws {
        let inbox = try SQLiteInbox(database)
        for number in 1...payloads {
            _ = try inbox.add([RawPayload(bytes(number), transport: "mqtt", transportMessageID: "m\(number)")])
        }
        let store = try SQLiteDeadLetterStore(database)
        for number in 1...letters {
            _ = try store.add(
                DeadLetter(payload: RawPayload(bytes(number)), reason: .failed, routes: ["r"], arrivedAt: .seconds(0)))
        }
        let known = try SQLiteSeenStore(database)
        for number in 1...seen { try known.handle(.numbered(number), at: SystemClock().now) }
    }

    /// Damages the pages of what is known to be done, and no others.
    static func breakSeen(_ directory: String) throws {
        let database = try SQLiteDatabase(directory: directory)
        let root = try database.number("SELECT rootpage FROM sqlite_schema WHERE name = 'seen'")
        database.close()
        let handle = try FileHandle(forWritingTo: URL(filePath: "\(directory)/kiipush.db"))
        try handle.seek(toOffset: UInt64(root - 1) * 4096)
        try handle.write(contentsOf: Data(repeating: 0x5A, count: 4096))
        try handle.close()
    }

    init(_ database: SQLiteDatabase) throws {
        let inbox = try SQLiteInbox(database)
        payloads = try inbox.entries(after: 0, limit: 1000)
        letters = try SQLiteDeadLetterStore(database).letters()
        let (store, now) = (try SQLiteSeenStore(database), SystemClock().now)
        seen = (1...Self.seen).filter { store.isDone(.numbered($0), at: now) }.count
    }

    /// Whether each payload and each letter is one that was written, under its number.
    var areTrue: Bool { untrue == 0 }

    /// How many are not.
    var untrue: Int {
        let payloads = payloads.filter {
            $0.payload.bytes != Self.bytes(Int($0.id)) || $0.payload.transportMessageID != "m\($0.id)"
        }
        let letters = letters.filter { $0.payload.bytes != Self.bytes(Int($0.id)) || $0.reason != .failed }
        return payloads.count + letters.count
    }
}
#endif
