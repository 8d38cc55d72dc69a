import KiiPushContracts
import Synchronization
import Testing

@testable import KiiPush

/// A contract that nothing can break proves nothing, so each promise is broken once here.
struct BreakerStoreContractTests {
    @Test("the store in memory keeps every promise of a breaker store, to guards that are made one after another")
    func inMemory() async {
        let shelf = BreakerShelf()
        await BreakerStoreContract { shelf.store($0, $1) }.verify()
    }

    @Test("a store with one thing wrong breaks the promise about it", arguments: FaultyBreakers.Fault.allCases)
    func broken(fault: FaultyBreakers.Fault) async {
        let broken = Mutex<Set<String>>([])
        let shelf = BreakerShelf()
        await BreakerStoreContract {
            FaultyBreakers(shelf.store($0, $1), fault, shelf.opened($0))
        }.verify { promise, _ in broken.withLock { _ = $0.insert(promise) } }
        let promises = broken.withLock { $0 }
        #expect(promises.contains { $0.hasPrefix(fault.promise) }, "broken: \(promises.sorted())")
    }

    @Test("a failure is an issue that names the promise and what the store did instead")
    func issue() async {
        let shelf = BreakerShelf()
        await withKnownIssue {
            await BreakerStoreContract { FaultyBreakers(shelf.store($0, $1), .newSecret, shelf.opened($0)) }.verify()
        } matching: { issue in
            issue.comments.map(\.rawValue) == [
                "the secret is always the same: it should be the same in a later process"
            ]
        }
    }
}

/// What the stores of one test leave for those after them, by place.
private final class BreakerShelf: Sendable {
    private let stores = Mutex<[Int: (store: InMemoryBreakerStore, opened: Int)]>([:])

    func store(_ place: Int, _ capacity: Int) -> InMemoryBreakerStore {
        stores.withLock { stores in
            let entry = stores[place] ?? (InMemoryBreakerStore(capacity: capacity), 0)
            stores[place] = entry
            return entry.store
        }
    }

    /// How often the store of a place was opened, this time included.
    func opened(_ place: Int) -> Int {
        stores.withLock { stores in
            stores[place]?.opened += 1
            return stores[place]?.opened ?? 0
        }
    }
}

/// A store with one thing wrong with it.
struct FaultyBreakers: BreakerStore {
    enum Fault: CaseIterable, Sendable {
        case hasOne, losesWidth, losesHalf, losesSign, roundsCoolDown, roundsTime, keepsFirst, keepsClosed, closesAll
        case closesFirst, opensWhenClosed, closesOnly, neverFull, forgetsFirst, forgetsNewest
        case newSecret, losesAll, isLate, forgetsOverlapping

        /// How the text of the promise that it breaks begins.
        var promise: String {
            switch self {
            case .hasOne: "an empty store"
            case .losesWidth: "keys that differ"
            case .losesHalf, .losesSign, .roundsCoolDown, .roundsTime: "a breaker is returned unchanged"
            case .keepsFirst: "the breaker written last for a key"
            case .keepsClosed, .closesAll: "closed breakers are removed"
            case .closesFirst, .opensWhenClosed: "closing an unknown breaker"
            case .closesOnly: "one call opens some"
            case .neverFull: "a store of capacity 0"
            case .forgetsFirst, .forgetsNewest: "beyond its capacity"
            case .newSecret: "the secret"
            case .losesAll, .isLate: "a later process finds"
            case .forgetsOverlapping: "concurrent calls are atomic"
            }
        }
    }

    private let store: InMemoryBreakerStore
    private let spare = InMemoryBreakerStore()
    private let fault: Fault
    private let opened: Int

    init(_ store: InMemoryBreakerStore, _ fault: Fault, _ opened: Int) {
        (self.store, self.fault, self.opened) = (store, fault, opened)
    }

    var secret: DedupeSecret { fault == .newSecret ? DedupeSecret(UInt64(opened), 0) : store.secret }

    func breakers() throws -> [TrippedBreaker] {
        let kept = store.breakers()
        switch fault {
        case .hasOne where kept.isEmpty:
            return [
                TrippedBreaker(
                    key: .init(isWide: false, digest: .init(first: 0, second: 0)), coolDown: .zero, until: .seconds(0))
            ]
        case .losesAll where opened > 1: return []
        case .neverFull: return kept + spare.breakers()
        case .forgetsOverlapping where kept.count > 30: return Array(kept.dropLast())
        default: return kept.map(changed)
        }
    }

    private func changed(_ breaker: TrippedBreaker) -> TrippedBreaker {
        var (digest, coolDown, until) = (breaker.key.digest, breaker.coolDown, breaker.until)
        switch fault {
        case .losesHalf: digest = DedupeKey(first: digest.first & .max >> 32, second: digest.second)
        case .losesSign: digest = DedupeKey(first: digest.first & .max >> 1, second: digest.second)
        case .roundsCoolDown: coolDown = .seconds(coolDown.components.seconds)
        case .roundsTime: until = .seconds(until.nanoseconds / 1_000_000_000)
        case .isLate where opened > 1: until = until.advanced(by: .seconds(90))
        default: break
        }
        return TrippedBreaker(
            key: TrippedBreaker.Key(isWide: breaker.key.isWide, digest: digest), coolDown: coolDown, until: until)
    }

    func write(_ opened: [TrippedBreaker], closed: [TrippedBreaker.Key]) throws {
        let kept = store.breakers()
        switch fault {
        case .losesWidth:
            store.write(
                opened.map {
                    TrippedBreaker(
                        key: .init(isWide: false, digest: $0.key.digest), coolDown: $0.coolDown, until: $0.until)
                }, closed: closed.map { .init(isWide: false, digest: $0.digest) })
        case .keepsFirst: store.write(opened.filter { new in !kept.contains { $0.key == new.key } }, closed: closed)
        case .keepsClosed: store.write(opened, closed: [])
        case .closesAll: store.write(opened, closed: closed.isEmpty ? [] : kept.map(\.key))
        case .closesFirst:
            let isThere = closed.allSatisfy { key in kept.contains { $0.key == key } }
            store.write(opened, closed: isThere ? closed : closed + kept.prefix(1).map(\.key))
        case .opensWhenClosed:
            let new = closed.filter { key in !kept.contains { $0.key == key } }
            store.write(
                opened + new.map { TrippedBreaker(key: $0, coolDown: .zero, until: .seconds(0)) }, closed: closed)
        case .closesOnly: store.write(closed.isEmpty ? opened : [], closed: closed)
        case .neverFull:
            store.write(opened, closed: closed)
            spare.write(opened.filter { new in !store.breakers().contains { $0.key == new.key } }, closed: closed)
        case .forgetsFirst:
            // By the end of the cool-down, not by the order in which they opened.
            let full = kept.count >= 3 && opened.count == 1 && !kept.contains { $0.key == opened[0].key }
            let first = full ? kept.min { $0.until < $1.until }.map { [$0.key] } ?? [] : []
            store.write(opened, closed: closed + first)
        case .forgetsNewest: store.write(kept.count >= 3 ? [] : opened, closed: closed)
        default: store.write(opened, closed: closed)
        }
    }
}
