#if SQLite
import KiiPush
import KiiPushSQLite
import KiiPushTesting
import Testing

/// The code of doc comments, so that it compiles and does what the comment says.
@Suite("Documented code of KiiPushSQLite")
struct DocumentedCodeTests {
    private let folder = StateFolder()
    private var directory: String { folder.directory }

    @Test("a service keeps its payloads and what it has handled in one database")
    func service() async throws {
        let database = try SQLiteDatabase(directory: directory)
        let inbox = try SQLiteInbox(database)
        let seen = try SQLiteSeenStore(writtenBy: inbox)
        let letters = try SQLiteDeadLetterStore(writtenBy: inbox)
        let receiver = PushReceiver(deadLetters: letters) { Deduplicator(store: seen, secret: database.secret) }
        receiver.onPushToApp { _, _ in }
        #expect(await receiver.receive(PayloadFixture.pushToApp().payload(.long)).name == "handled")
        #expect(inbox.isDurable)
    }

    @Test("a receiver on a database drops after a restart what it handled before")
    func receiver() async throws {
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
