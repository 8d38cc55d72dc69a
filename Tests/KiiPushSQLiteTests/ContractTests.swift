#if SQLite
import KiiPush
import KiiPushContracts
import Testing

@testable import KiiPushSQLite

struct ContractTests {
    private let folder = StateFolder()

    @Test("the store on SQLite keeps every promise of a seen store")
    func seenStore() async throws {
        await SeenStoreContract { [folder] window in
            try SQLiteSeenStore(try SQLiteDatabase(directory: folder.next()), window: window)
        }.verify()
    }

    @Test("so does one whose commits an inbox writes")
    func seenStoreOfInbox() async throws {
        await SeenStoreContract { [folder] window in
            let database = try SQLiteDatabase(directory: folder.next())
            return try SQLiteSeenStore(writtenBy: try SQLiteInbox(database), window: window)
        }.verify()
    }

    @Test("the inbox on SQLite keeps every promise of an inbox")
    func inbox() async throws {
        await InboxContract { [folder] place in
            try SQLiteInbox(try SQLiteDatabase(directory: "\(folder.path)/\(place)"))
        } close: {
            $0.database.close()
        }.verify()
    }

    @Test("the store on SQLite keeps every promise of a dead-letter store")
    func deadLetters() async throws {
        await DeadLetterStoreContract { [folder] capacity, bytes in
            let database = try SQLiteDatabase(directory: folder.next())
            return try SQLiteDeadLetterStore(database, capacity: capacity, bytes: bytes)
        }.verify()
    }
}
#endif
