#if SQLite
import KiiPush
import KiiPushContracts
import Testing

@testable import KiiPushSQLite

struct ContractTests {
    @Test("the store on SQLite keeps every promise of a seen store")
    func seenStore() async throws {
        let folder = try StateFolder()
        await SeenStoreContract { window in
            try SQLiteSeenStore(try SQLiteDatabase(directory: folder.next()), window: window)
        }.verify()
    }

    @Test("so does one whose commits an inbox writes")
    func seenStoreOfInbox() async throws {
        let folder = try StateFolder()
        await SeenStoreContract { window in
            let database = try SQLiteDatabase(directory: folder.next())
            return try SQLiteSeenStore(writtenBy: try SQLiteInbox(database), window: window)
        }.verify()
    }

    @Test("the inbox on SQLite keeps every promise of an inbox")
    func inbox() async throws {
        let folder = try StateFolder()
        await InboxContract { place in
            try SQLiteInbox(try SQLiteDatabase(directory: "\(folder.path)/\(place)"))
        } close: {
            $0.database.close()
        }.verify()
    }

    @Test("the store on SQLite keeps every promise of a dead-letter store")
    func deadLetters() async throws {
        let folder = try StateFolder()
        await DeadLetterStoreContract { capacity, bytes in
            let database = try SQLiteDatabase(directory: folder.next())
            return try SQLiteDeadLetterStore(database, capacity: capacity, bytes: bytes)
        }.verify()
    }
}
#endif
