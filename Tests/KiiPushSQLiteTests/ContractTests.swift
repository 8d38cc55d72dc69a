#if SQLite
import KiiPush
import KiiPushContracts
import KiiPushSQLite
import Testing

struct ContractTests {
    @Test("the store on SQLite keeps every promise of a seen store")
    func seenStore() async throws {
        let folder = try StateFolder()
        await SeenStoreContract { window in
            try SQLiteSeenStore(try SQLiteDatabase(directory: folder.next()), window: window)
        }.verify()
    }
}
#endif
