#if SQLite
import Foundation
import Glibc
import KiiPush
import KiiPushAgent
import KiiPushDelivery
import KiiPushSystem
import KiiPushTesting
import Synchronization
import Testing

@testable import KiiPushSQLite

/// What happens when there is no room at the n-th write, for every n over a scenario.
struct FullDiskTests {
    private let folder = StateFolder()

    /// Messages and letters that are handled in turn; each step may fail once, and is then done again with room.
    private struct Scenario {
        let database: SQLiteDatabase
        let seen: SQLiteSeenStore
        let letters: SQLiteDeadLetterStore
        var handled: [DedupeKeys] = []
        var kept: [UInt64] = []
        /// How often there was no room.
        var failures = 0

        init(_ directory: String) throws {
            database = try SQLiteDatabase(directory: directory)
            seen = try SQLiteSeenStore(database, window: SeenWindow(count: 70), clock: ManualClock())
            letters = try SQLiteDeadLetterStore(database, clock: ManualClock())
        }

        /// Runs all steps; `makeRoom` ends the shortage.
        mutating func run(_ makeRoom: () throws -> Void) throws {
            for number in 0..<100 {
                let keys = DedupeKeys.numbered(number, number % 2 == 0 ? number + 1_000_000 : nil)
                let lease = try seen.lease(keys)
                let counts = seen.counts
                try again(makeRoom) {
                    try $0.seen.commit(lease, now: .seconds(0))
                } expecting: {
                    $0.seen.counts == counts
                }
                handled.append(keys)
                if number % 4 == 0 { try addLetter(number, makeRoom) }
                if number % 30 == 29 { try removeLetter(makeRoom) }
            }
        }

        private mutating func addLetter(_ number: Int, _ makeRoom: () throws -> Void) throws {
            let payload = RawPayload([UInt8](repeating: UInt8(number), count: 3000))
            let letter = DeadLetter(payload: payload, reason: .failed, routes: ["a"], arrivedAt: .seconds(0))
            let ids = kept
            kept.append(
                try again(makeRoom) {
                    try $0.letters.add(letter)
                } expecting: {
                    try $0.letters.letters().map(\.id) == ids
                })
        }

        private mutating func removeLetter(_ makeRoom: () throws -> Void) throws {
            let id = kept.removeFirst()
            let ids = [id] + kept
            let wasThere = try again(makeRoom) {
                try $0.letters.remove(id)
            } expecting: {
                try $0.letters.letters().map(\.id) == ids
            }
            #expect(wasThere)
        }

        /// Does a step, and does it again with room when there was none and nothing has changed.
        private mutating func again<Result>(
            _ makeRoom: () throws -> Void, _ step: (Scenario) throws -> Result,
            expecting isUnchanged: (Scenario) throws -> Bool
        ) throws -> Result {
            do { return try step(self) } catch let error as SQLiteError where error == .full(path: database.path) {
                failures += 1
                #expect(try isUnchanged(self), "a step that failed has changed something")
                try makeRoom()
                return try step(self)
            }
        }
    }

    /// Expects that all that a scenario did is there after a restart.
    private static func expectWhole(_ scenario: Scenario, _ directory: String) throws {
        let again = try Scenario(directory)
        let last = scenario.handled.suffix(70)
        #expect(last.allSatisfy { again.seen.isDone($0, at: .seconds(0)) })
        #expect(!scenario.handled.dropLast(70).contains { again.seen.isDone($0, at: .seconds(0)) })
        #expect(try again.letters.letters().map(\.id) == scenario.kept)
        #expect(try again.letters.letters().allSatisfy { $0.payload.bytes.count == 3000 && $0.routes == ["a"] })
    }

    @Test("with room for n pages more a step fails whole, and goes well when there is room again")
    func pages() throws {
        var failures = 0
        var rounds = 0
        while true {
            let directory = folder.next()
            var scenario = try Scenario(directory)
            let database = scenario.database
            let pages = try database.number("PRAGMA page_count")
            _ = try database.number("PRAGMA max_page_count = \(pages + Int64(rounds))")
            try scenario.run { _ = try database.number("PRAGMA max_page_count = 1000000") }
            database.close()
            try Self.expectWhole(scenario, directory)
            rounds += 1
            failures += scenario.failures
            if scenario.failures == 0 { break }
        }
        #expect(rounds > 15 && failures == rounds - 1)
    }

    @Test("a receiver on a full disk handles its messages, and tells the store when there is room again")
    func receiver() async throws {
        let database = try SQLiteDatabase(directory: folder.next())
        let deduplicator = Deduplicator(store: try SQLiteSeenStore(database), secret: database.secret)
        let receiver = PushReceiver { deduplicator }
        receiver.onPushToApp { _, _ in }
        func send(_ number: Int64) async -> String {
            await receiver.receive(PayloadFixture.pushToApp(sentAt: number, modifiedAt: number).payload(.long)).name
        }
        _ = try database.number("PRAGMA max_page_count = \(try database.number("PRAGMA page_count"))")
        var number: Int64 = 0
        while deduplicator.counts.unreportedEnds == 0, number < 1000 {
            number += 1
            #expect(await send(number) == "handled")
        }
        #expect(deduplicator.counts.unreportedEnds == 1)
        _ = try database.number("PRAGMA max_page_count = 1000000")
        #expect(await send(number + 1) == "handled")
        #expect(deduplicator.counts.unreportedEnds == 0)
        for number in 1...number { #expect(await send(number) == "duplicate") }
    }
}

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

    @Test("what another program has taken of the disk keeps payloads out until it gives it back")
    func others() throws {
        let folder = StateFolder()
        let database = try SQLiteDatabase(directory: folder.next())
        let shortages = Shortages()
        let inbox = try SQLiteInbox(database, shortages: shortages)
        inbox.reserve.withLock { $0?.free = { _ in 1 << 20 } }
        #expect(throws: InboxNoRoom.self) { try inbox.add([payload(1)]) }
        #expect(inbox.count == 0 && shortages.isShort(of: .disk))
        inbox.reserve.withLock { $0?.free = { _ in 1 << 30 } }
        #expect(try inbox.add([payload(1)]).count == 1)
        #expect(!shortages.isShort(of: .disk))
    }
}
#endif
