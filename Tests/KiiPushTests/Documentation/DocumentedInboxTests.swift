import KiiPush
import KiiPushDelivery
import KiiPushContracts
import Testing

/// The code of the contract's doc comment, so that it compiles and runs.
struct DocumentedInboxTests {
    private let folder = "/var/lib/agent"

    @Test("my inbox meets the guarantees of an inbox")
    func inbox() async {
        await InboxContract { place in
            try MyInbox(file: "\(folder)/\(place)")
        } close: {
            $0.close()
        }.verify()
    }
}

/// An inbox of a user's own, as the comment supposes; this one keeps nothing but numbers, as the one in memory.
private final class MyInbox: Inbox {
    let isDurable = false
    private let numbers = InMemoryInbox()

    init(file: String) throws {}

    func add(_ payloads: [RawPayload]) -> [UInt64] { numbers.add(payloads) }
    func record(_ records: [InboxRecord]) async { await numbers.record(records) }
    func answers(of sender: String, limit: Int) -> [UnsentAnswer] { numbers.answers(of: sender, limit: limit) }
    func entries(after id: UInt64, limit: Int) -> [InboxEntry] { [] }
    func entries(of ids: [UInt64]) -> [InboxEntry] { [] }
    func close() {}
}
