#if SQLite
import Foundation
import KiiPush
import KiiPushDelivery
import KiiPushTesting
import Testing

@testable import KiiPushSQLite

/// Which writes of an inbox wait until the disk confirms them.
struct DiskSyncTests {
    @Test("every write waits for the disk but the beginnings of attempts, unless their payloads came back")
    func beginnings() async throws {
        let folder = try StateFolder()
        await #expect(processExitsWith: .exitCode(0)) { [directory = folder.next() as String] in
            FaultyDisk.install()
            var inbox = try SQLiteInbox(try SQLiteDatabase(directory: directory))
            func syncs(_ records: InboxRecord...) async throws -> Int {
                try await FaultyDisk.syncs { try await inbox.record(records) }
            }
            #expect(try await FaultyDisk.syncs { _ = try inbox.add((1...4).map { RawPayload([$0]) }) } == 1)
            #expect(try await syncs(.begun(1, attempt: 1)) == 0)
            #expect(try await syncs(.begun(2, attempt: 1), .begun(3, attempt: 1)) == 0)
            #expect(try await syncs(.failed(1, handled: [])) == 1)
            #expect(try await syncs(.begun(1, attempt: 2)) == 0)
            #expect(try await syncs(.ended(1), .begun(4, attempt: 1)) == 1)
            // Of 2, 3 and 4 one may have ended the machine.
            inbox.database.close()
            inbox = try SQLiteInbox(try SQLiteDatabase(directory: directory))
            #expect(try inbox.entries().map(\.crashes) == [1, 1, 1])
            #expect(try await syncs(.begun(2, attempt: 2)) == 1)
            var numbers: [UInt64] = []
            #expect(try await FaultyDisk.syncs { numbers = try inbox.add([RawPayload([5])]) } == 1)
            #expect(numbers == [5])
            #expect(try await syncs(.begun(5, attempt: 1), .begun(3, attempt: 2)) == 1)
            #expect(try await syncs(.ended(5)) == 1)
        }
    }

    @Test("a commit of the deduplication store waits for the disk, also beside a beginning")
    func commits() async throws {
        let folder = try StateFolder()
        await #expect(processExitsWith: .exitCode(0)) { [directory = folder.next() as String] in
            FaultyDisk.install()
            let inbox = try SQLiteInbox(try SQLiteDatabase(directory: directory))
            let seen = try SQLiteSeenStore(writtenBy: inbox)
            _ = try inbox.add([RawPayload([1]), RawPayload([2])])
            try await inbox.record(.begun(1, attempt: 1))
            try seen.handle(.numbered(1), at: .seconds(0))
            #expect(try await FaultyDisk.syncs { try await inbox.record(.begun(2, attempt: 1)) } == 1)
        }
    }
}
#endif
