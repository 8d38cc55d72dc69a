import KiiPush
import KiiPushContracts
import Synchronization
import Testing

/// The code of the contract's doc comment, so that it compiles and runs.
struct DocumentedBreakersTests {
    private let folder = "/var/lib/agent"

    @Test("my store meets the guarantees of a breaker store")
    func breakers() async {
        await BreakerStoreContract { place, capacity in
            try MyBreakers(file: "\(folder)/\(place)", capacity: capacity)
        } close: {
            $0.close()
        }.verify()
    }
}

/// A store of a user's own, as the comment supposes; its files are in memory.
private final class MyBreakers: BreakerStore {
    private static let files = Mutex<[String: InMemoryBreakerStore]>([:])

    private let store: InMemoryBreakerStore

    init(file: String, capacity: Int) throws {
        store = Self.files.withLock { files in
            let store = files[file] ?? InMemoryBreakerStore(capacity: capacity)
            files[file] = store
            return store
        }
    }

    var secret: DedupeSecret { store.secret }
    func breakers() -> [TrippedBreaker] { store.breakers() }
    func write(_ opened: [TrippedBreaker], closed: [TrippedBreaker.Key]) { store.write(opened, closed: closed) }
    func close() {}
}
