#if SQLite
import Foundation
import KiiPush
import KiiPushContracts
import KiiPushDelivery
import KiiPushTesting
import Synchronization
import Testing

@testable import KiiPushSQLite

/// What a dead-letter store promises whose letters an inbox writes with the notes of their payloads.
@Suite(.timeLimit(.minutes(5)))
struct LettersOfInboxTests {
    private let folder = StateFolder()
    private var directory: String { folder.directory }

    private func open(capacity: Int = 100) throws -> (inbox: SQLiteInbox, letters: SQLiteDeadLetterStore) {
        let inbox = try SQLiteInbox(try SQLiteDatabase(directory: directory), clock: ManualClock())
        return (inbox, try SQLiteDeadLetterStore(writtenBy: inbox, capacity: capacity, clock: ManualClock()))
    }

    private func letter(of payload: UInt64?, _ size: Int = 10) -> DeadLetter {
        let bytes = [UInt8](repeating: UInt8(truncatingIfNeeded: payload ?? 0), count: size)
        var letter = DeadLetter(
            payload: RawPayload(bytes, transport: .mqtt), reason: .failed, routes: ["a", "b"], arrivedAt: .seconds(0))
        (letter.attempts, letter.inboxID) = (5, payload)
        return letter
    }

    @Test("a letter is on disk when its payload has ended, and not before; it counts and is listed at once")
    func together() async throws {
        let (inbox, letters) = try open()
        let ids = try inbox.add([RawPayload([1]), RawPayload([2])])
        // While somebody else has the database, a letter that waited for it would never be taken.
        try inbox.database.withConnection { _ throws(SQLiteError) in
            #expect((try? letters.add(letter(of: ids[0]))) == 1)
        }
        #expect(letters.count == 1)
        try await inbox.record(.begun(ids[0], attempt: 1))
        try await inbox.record(.ended(ids[1]))
        #expect(try inbox.rowsOfLetters() == 0)
        func expectListed(_ letters: SQLiteDeadLetterStore) throws {
            let found = try letters.letters()
            #expect(found.map(\.id) == [1] && found.map(\.routes) == [["a", "b"]] && found.map(\.attempts) == [5])
            #expect(found.first?.payload == letter(of: 1).payload && found.first?.inboxID == nil)
            #expect(found.first?.receivedAt != nil)
        }
        try expectListed(letters)
        try await inbox.record(.ended(ids[0]))
        #expect(try inbox.rowsOfLetters() == 1)
        try expectListed(letters)
        inbox.database.close()
        let (next, again) = try open()
        #expect(try next.entries().isEmpty)
        try expectListed(again)
        #expect(try again.add(letter(of: nil)) == 2)
    }

    @Test("a letter for some of a payload's routes is on disk with the note that they are done")
    func some() async throws {
        let (inbox, letters) = try open()
        let id = try inbox.add([RawPayload([1])])[0]
        _ = try letters.add(letter(of: id))
        try await inbox.record([.failed(id, handled: ["a", "b"]), .begun(id, attempt: 2)])
        #expect(try inbox.rowsOfLetters() == 1)
        _ = try letters.add(letter(of: id))
        _ = try letters.add(letter(of: id))
        try await inbox.record(.ended(id))
        #expect(try inbox.rowsOfLetters() == 3)
        #expect(try letters.letters().map(\.id) == [1, 2, 3])
    }

    @Test("after a crash between a letter and its payload's end the payload is there, and the letter is not")
    func crash() async throws {
        var (inbox, letters) = try open()
        let ids = try inbox.add([RawPayload([1]), RawPayload([2])])
        for id in ids { _ = try letters.add(letter(of: id)) }
        try await inbox.record(.ended(ids[1]))
        inbox.database.close()
        (inbox, letters) = try open()
        #expect(try inbox.entries().map(\.id) == [ids[0]])
        #expect(try letters.letters().map(\.id) == [2] && letters.count == 1)
    }

    @Test("a letter of a payload that is not there, or of none, is on disk at once")
    func elsewhere() async throws {
        let (inbox, letters) = try open()
        let id = try inbox.add([RawPayload([1])])[0]
        try await inbox.record(.ended(id))
        for (index, payload) in [nil, id, id + 1, .max, 0].enumerated() {
            #expect(try letters.add(letter(of: payload)) == UInt64(index + 1))
            #expect(try inbox.rowsOfLetters() == Int64(index + 1))
        }
    }

    @Test("a letter that waits counts for the bounds, and is not written any more once it is removed")
    func removed() async throws {
        let (inbox, letters) = try open(capacity: 2)
        let ids = try inbox.add((0..<3).map { RawPayload([$0]) })
        #expect(try letters.add(letter(of: ids[0])) == 1)
        #expect(try letters.add(letter(of: ids[1])) == 2)
        #expect(throws: DeadLettersFull(count: 2, bytes: 20)) { try letters.add(letter(of: ids[2])) }
        #expect(throws: DeadLettersFull(count: 2, bytes: 20)) { try letters.add(letter(of: nil)) }
        #expect(try letters.remove(1))
        #expect(try !letters.remove(1))
        #expect(try letters.add(letter(of: ids[2])) == 3)
        for id in ids { try await inbox.record(.ended(id)) }
        #expect(try letters.letters().map(\.id) == [2, 3])
        #expect(try letters.remove(3) && letters.count == 1)
    }

    @Test("payloads that are handled again lose their waiting letters")
    func anew() async throws {
        let (inbox, letters) = try open()
        let id = try inbox.add([RawPayload([1])])[0]
        _ = try letters.add(letter(of: id))
        #expect(try inbox.entries().map(\.id) == [id])
        #expect(letters.count == 0)
        try await inbox.record(.ended(id))
        #expect(try letters.letters().isEmpty)
    }

    /// A letter of a key of which there is room for one.
    private func folded(of payload: UInt64?, _ second: Int64, _ size: Int = 10) -> DeadLetter {
        var letter = DeadLetter(
            payload: RawPayload([UInt8](repeating: UInt8(second), count: size), transport: .mqtt), reason: .failed,
            routes: ["r\(second)"], arrivedAt: .seconds(second))
        (letter.inboxID, letter.cause) = (payload, "C\(second)")
        letter.keys = [DedupeKey(first: 1, second: .max)]
        return letter
    }

    @Test("a letter that stands for others is written with the end of each of them, in whatever order they end")
    func summary() async throws {
        for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2], [2, 0, 1]] {
            let folder = StateFolder()
            let database = try SQLiteDatabase(directory: folder.next())
            let inbox = try SQLiteInbox(database, clock: ManualClock())
            let letters = try SQLiteDeadLetterStore(writtenBy: inbox, capacity: 10, clock: ManualClock())
            let ids = try inbox.add((0..<3).map { RawPayload([$0]) })
            for (index, id) in ids.enumerated() { #expect(try letters.add(folded(of: id, Int64(index + 1))) == 1) }
            func expectSummary(_ count: Int) throws {
                let letter = try #require(try letters.letters().first)
                #expect(letter.id == 1 && letter.count == count && letters.count == 1)
                #expect(letter.summary?.bytesLost == 10 * (count - 1))
                #expect(letter.summary?.firstArrivedAt == .seconds(1) && letter.summary?.firstReceivedAt != nil)
                var older = letter
                older.summary?.count = count - 1
                #expect(try !letters.remove(older), "one was merged into it since")
            }
            try expectSummary(3)
            for (ended, index) in order.enumerated() {
                try await inbox.record(.ended(ids[index]))
                #expect(try inbox.rowsOfLetters() == 1)
                try expectSummary(3)
                if ended == 2 { #expect(try inbox.messagesOfLetters() == 3) }
            }
            let newest = try #require(try letters.letters().first)
            #expect(newest.arrivedAt == .seconds(3) && newest.payload.bytes.first == 3)
            #expect(newest.routes == ["r3"] && newest.cause == "C3")
            #expect(try letters.remove(newest) && letters.count == 0 && inbox.rowsOfLetters() == 0)
        }
    }

    @Test("of those that are merged while letters are removed, a removed letter or one that is left counts each")
    func mergedWhileRemoved() throws {
        let (_, letters) = try open(capacity: 10)
        let removed = Mutex(0)
        let isDone = Mutex(false)
        let count = 300
        DispatchQueue.concurrentPerform(iterations: 2) { worker in
            if worker == 0 {
                for number in 0..<count { _ = try? letters.add(folded(of: nil, Int64(number % 100))) }
                isDone.withLock { $0 = true }
            }
            while worker == 1, !isDone.withLock({ $0 }) {
                for letter in (try? letters.letters()) ?? [] where (try? letters.remove(letter)) == true {
                    removed.withLock { $0 += letter.count }
                }
            }
        }
        let left = try letters.letters().reduce(0) { $0 + $1.count }
        #expect(removed.withLock { $0 } + left == count)
    }

    @Test("after a crash a letter stands for those whose payloads had ended, and the others are in the inbox")
    func summaryAfterCrash() async throws {
        var (inbox, letters) = try open(capacity: 10)
        let ids = try inbox.add((0..<5).map { RawPayload([$0]) })
        for (index, id) in ids.enumerated() { _ = try letters.add(folded(of: id, Int64(index + 1))) }
        for id in ids.prefix(3) { try await inbox.record(.ended(id)) }
        inbox.database.close()
        (inbox, letters) = try open(capacity: 10)
        #expect(try inbox.entries().map(\.id) == Array(ids.suffix(2)))
        let letter = try #require(try letters.letters().first)
        #expect(letter.id == 1 && letter.count == 3 && letter.payload.bytes.first == 3 && letter.routes == ["r3"])
        #expect(letter.cause == "C3" && letter.summary?.bytesLost == 20)
        // The share is remembered with the key.
        #expect(try letters.add(folded(of: nil, 9)) == 1)
        #expect(try letters.letters().first?.count == 4 && letters.letters().first?.payload.bytes.first == 9)
        #expect(try letters.letters().first?.arrivedAt == .seconds(9), "a time of this process is exact")
        #expect(try letters.remove(1))
        #expect(try inbox.rowsOfLetters() == 0 && letters.letters().isEmpty)
        #expect(try letters.add(folded(of: nil, 10)) == 2)
        #expect(try letters.letters().first?.summary == nil)
    }

    @Test("letters that wait to be merged into a removed letter are not written")
    func summaryRemoved() async throws {
        let (inbox, letters) = try open(capacity: 10)
        let ids = try inbox.add((0..<3).map { RawPayload([$0]) })
        _ = try letters.add(folded(of: nil, 1))
        for (index, id) in ids.enumerated() { #expect(try letters.add(folded(of: id, Int64(index + 2))) == 1) }
        #expect(try letters.remove(1) && !letters.remove(1))
        for id in ids { try await inbox.record(.ended(id)) }
        #expect(try letters.letters().isEmpty && inbox.rowsOfLetters() == 0 && letters.count == 0)
    }

    @Test("a letter that does not fit on the disk does not block the records of other payloads")
    func fullDisk() async throws {
        let (inbox, letters) = try open()
        let ids = try inbox.add((0..<20).map { RawPayload([$0]) })
        _ = try letters.add(letter(of: ids[0], 60_000))
        try inbox.database.run("PRAGMA max_page_count = 1")
        let full = SQLiteError.full(path: inbox.database.path)
        let failed = await withTaskGroup(of: UInt64?.self) { group in
            for id in ids {
                group.addTask {
                    do { try await inbox.record(.ended(id)) } catch { return error as? SQLiteError == full ? id : 0 }
                    return nil
                }
            }
            return await group.reduce(into: []) { $0 += $1.map { [$0] } ?? [] }
        }
        #expect(failed == [ids[0]] && inbox.count == 1)
        #expect(try letters.letters().map(\.id) == [1])
        try inbox.database.run("PRAGMA max_page_count = 1000000")
        try await inbox.record(.ended(ids[0]))
        #expect(try inbox.rowsOfLetters() == 1)
        #expect(inbox.count == 0 && letters.count == 1)
    }

    @Test("while its letters wait, it keeps every promise of a dead-letter store")
    func contract() async throws {
        let folder = StateFolder()
        await DeadLetterStoreContract { capacity, bytes in
            let inbox = try SQLiteInbox(try SQLiteDatabase(directory: folder.next()))
            return WaitingLetters(
                inbox: inbox,
                store: try SQLiteDeadLetterStore(writtenBy: inbox, capacity: capacity, bytes: bytes))
        }.verify()
    }
}

/// A store all whose letters wait for the end of their payloads.
private struct WaitingLetters: DeadLetterStore {
    let inbox: SQLiteInbox
    let store: SQLiteDeadLetterStore

    func add(_ letter: DeadLetter) throws -> UInt64 {
        var letter = letter
        letter.inboxID = try inbox.add([RawPayload([1])])[0]
        return try store.add(letter)
    }

    func letters() throws -> [DeadLetter] { try store.letters() }
    func remove(_ id: UInt64) throws -> Bool { try store.remove(id) }
    var count: Int { store.count }
}

extension SQLiteInbox {
    fileprivate func rowsOfLetters() throws -> Int64 { try database.number("SELECT count(*) FROM deadLetters") }
    fileprivate func messagesOfLetters() throws -> Int64 { try database.number("SELECT sum(count) FROM deadLetters") }
}
#endif
