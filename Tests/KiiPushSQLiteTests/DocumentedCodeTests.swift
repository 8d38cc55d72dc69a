#if SQLite
import KiiPush
import KiiPushSQLite
import KiiPushTesting
import Testing

/// The code of doc comments, so that it compiles and does what the comment says.
@Suite("Documented code of KiiPushSQLite")
struct DocumentedCodeTests {
    private let folder: StateFolder

    init() throws { folder = try StateFolder() }

    @Test("a receiver on a database drops after a restart what it handled before")
    func receiver() async throws {
        let directory = folder.next()
        let payload = PayloadFixture.pushToApp().payload(.long)
        for expected in ["handled", "duplicate", "duplicate"] {
            let database = try SQLiteDatabase(directory: directory)
            let seen = try SQLiteSeenStore(database)
            let letters = try SQLiteDeadLetterStore(database)
            let receiver = PushReceiver(deadLetters: letters) {
                Deduplicator(store: seen, secret: database.secret)
                LoopGuard()
            }
            receiver.onPushToApp { _, _ in }
            #expect(await receiver.receive(payload).name == expected)
            database.close()
        }
    }
}
#endif
