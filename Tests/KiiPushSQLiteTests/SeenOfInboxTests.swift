#if SQLite
import Foundation
import KiiPush
import KiiPushDelivery
import KiiPushTesting
import Testing

@testable import KiiPushSQLite

/// What a seen store promises whose commits an inbox writes.
@Suite(.timeLimit(.minutes(5)))
struct SeenOfInboxTests {
    private let folder = StateFolder()
    private var directory: String { folder.directory }

    private func open() throws -> (SQLiteInbox, SQLiteSeenStore) {
        let inbox = try SQLiteInbox(try SQLiteDatabase(directory: directory), clock: ManualClock())
        return (inbox, try SQLiteSeenStore(writtenBy: inbox, clock: ManualClock()))
    }

    @Test("a commit waits for nothing, and is on disk when a note that came after it is")
    func withNote() async throws {
        let (inbox, seen) = try open()
        let ids = try inbox.add([RawPayload([1]), RawPayload([2])])
        // While somebody else has the database, a commit that waited for it would never end.
        try inbox.database.withConnection { _ throws(SQLiteError) in
            for number in 1...3 { #expect(throws: Never.self) { try seen.handle(.numbered(number), at: .seconds(0)) } }
        }
        #expect(seen.counts == SeenCounts(strong: .init(remembered: 3)))
        #expect(try inbox.rowsOfSeen() == 0)
        try await inbox.record(.ended(ids[0]))
        #expect(try inbox.rowsOfSeen() == 3)
        try seen.handle(.numbered(4), at: .seconds(0))
        inbox.database.close()
        let (next, again) = try open()
        #expect(try next.entries().map(\.id) == [ids[1]])
        for number in 1...3 { #expect(again.isDone(.numbered(number), at: .seconds(0))) }
        #expect(!again.isDone(.numbered(4), at: .seconds(0)))
    }

    @Test("a commit goes with the next payloads too, and at the latest when the store is let go")
    func withoutNote() throws {
        var pair: (SQLiteInbox, SQLiteSeenStore)? = try open()
        try pair?.1.handle(.numbered(1), at: .seconds(0))
        _ = try pair?.0.add([RawPayload([1])])
        #expect(try pair?.0.rowsOfSeen() == 1)
        try pair?.1.handle(.numbered(2), at: .seconds(0))
        pair = nil
        let (_, again) = try open()
        #expect(again.counts == SeenCounts(strong: .init(remembered: 2)))
    }

    @Test("a commit whose write fails stays in the queue, before what came later, and goes with the next")
    func failed() async throws {
        let (inbox, seen) = try open()
        let ids = try inbox.add([RawPayload([1])])
        try inbox.database.run("PRAGMA max_page_count = 1")
        for number in 0..<300 { try seen.handle(.numbered(number), at: .seconds(0)) }
        for _ in 0..<3 {
            await #expect(throws: SQLiteError.full(path: inbox.database.path)) {
                try await inbox.record(.ended(ids[0]))
            }
        }
        #expect(inbox.count == 1)
        #expect(try inbox.rowsOfSeen() == 0)
        try seen.handle(.numbered(300), at: .seconds(0))
        try inbox.database.run("PRAGMA max_page_count = 1000000")
        try await inbox.record(.ended(ids[0]))
        #expect(try inbox.rowsOfSeen() == 301)
        inbox.database.close()
        let (next, again) = try open()
        #expect(try next.entries().isEmpty)
        #expect((0...300).allSatisfy { again.isDone(.numbered($0), at: .seconds(0)) })
    }

    @Test("4,096 commits wait at most: the next takes some to the disk, or throws and stays in flight")
    func many() throws {
        let (inbox, seen) = try open()
        for number in 0..<4096 { try seen.handle(.numbered(number), at: .seconds(0)) }
        #expect(try inbox.rowsOfSeen() == 0)
        try inbox.database.run("PRAGMA max_page_count = 1")
        let lease = try seen.lease(.numbered(5000))
        #expect(throws: SQLiteError.full(path: inbox.database.path)) { try seen.commit(lease, now: .seconds(0)) }
        #expect(seen.counts?.inFlight == 1)
        try inbox.database.run("PRAGMA max_page_count = 1000000")
        try seen.commit(lease, now: .seconds(0))
        #expect(seen.counts?.inFlight == 0)
        #expect(try inbox.rowsOfSeen() == 1024)
    }

    @Test("the file keeps as many rows as the window counts")
    func rows() async throws {
        let clock = ManualClock()
        let inbox = try SQLiteInbox(try SQLiteDatabase(directory: directory), clock: clock)
        let seen = try SQLiteSeenStore(writtenBy: inbox, window: SeenWindow(count: 100), clock: clock)
        for number in 0..<500 {
            try seen.handle(.numbered(number), at: .seconds(0))
            if number % 50 == 49 { try await inbox.record(.ended(1)) }
        }
        #expect(try inbox.rowsOfSeen() == 100)
        inbox.database.close()
        let database = try SQLiteDatabase(directory: directory)
        let again = try SQLiteSeenStore(database, window: SeenWindow(count: 100), clock: clock)
        #expect((400..<500).allSatisfy { again.isDone(.numbered($0), at: clock.now) })
        #expect(!(0..<400).contains { again.isDone(.numbered($0), at: clock.now) })
    }
}

extension SQLiteInbox {
    fileprivate func rowsOfSeen() throws -> Int64 { try database.number("SELECT count(*) FROM seen") }
}
#endif
