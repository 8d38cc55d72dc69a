#if SQLite
import KiiPush
import KiiPushContracts
import KiiPushDelivery
import KiiPushTesting
import Synchronization
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

    @Test("a seen store whose commits the inbox writes keeps every promise of a seen store")
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

/// Brings one payload.
private struct Once: PushTransport {
    let name = "once"
    let abilities: TransportAbilities = []
    let payload: RawPayload

    func run(_ intake: PushIntake) async throws { _ = try await intake.submitWaiting(payload) }
}

/// The code of doc comments, so that it compiles and does what the comment says.
@Suite("Documented code of KiiPushSQLite")
struct DocumentedCodeTests {
    private let folder = StateFolder()
    private var directory: String { folder.directory }

    @Test("the guide's service on a database drops after a restart what it handled before")
    func guide() async throws {
        let reloads = Mutex(0)
        @Sendable func reload(_ object: KiiObject) async throws { reloads.withLock { $0 += 1 } }
        let transport = Once(payload: PayloadFixture.pushToApp().payload(.long))
        for _ in 1...2 {
            let database = try SQLiteDatabase(healing: directory)
            let inbox = try SQLiteInbox(database)
            let seen = try SQLiteSeenStore(writtenBy: inbox)
            let letters = try SQLiteDeadLetterStore(writtenBy: inbox)
            let receiver = PushReceiver(app: "0123abcd", deadLetters: letters) {
                Deduplicator(store: seen, secret: database.secret)
                LoopGuard(me: [.thing(id: "th.1")])
                ScopeFilter()
            }
            receiver.onPushToApp(bucket: "settings", object: "*") { event, _ in try await reload(event.object) }
            let service = PushService(receiver, [transport], inbox: inbox)
            if database.healing?.isNew == true { service.open(Gap(.stateHealed)) }
            let report = try await service.run()
            #expect(report.left == 0)
            database.close()
        }
        #expect(reloads.withLock { $0 } == 1)
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
