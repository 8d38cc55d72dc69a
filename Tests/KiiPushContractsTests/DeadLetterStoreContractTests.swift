import KiiPushContracts
import Synchronization
import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

/// A contract that nothing can break proves nothing, so each promise is broken here.
struct DeadLetterStoreContractTests {
    @Test("each fault of a store breaks its guarantee", arguments: FaultyLetters.Fault.allCases)
    func broken(fault: FaultyLetters.Fault) async {
        let broken = Mutex<Set<String>>([])
        await DeadLetterStoreContract { FaultyLetters(InMemoryDeadLetterStore(capacity: $0, bytes: $1), fault) }
            .verify { promise, _ in broken.withLock { _ = $0.insert(promise) } }
        let promises = broken.withLock { $0 }
        #expect(promises.contains { $0.hasPrefix(fault.promise) }, "broken: \(promises.sorted())")
    }

    @Test("a store is full at its count or its bytes", arguments: [(2, 100), (100, 6)])
    func full(capacity: Int, bytes: Int) throws {
        let store = InMemoryDeadLetterStore(capacity: capacity, bytes: bytes)
        for _ in 0..<2 {
            #expect(!store.isFull)
            let payload = RawPayload([1, 2, 3])
            _ = try store.add(
                DeadLetter(payload: payload, reason: .failed, routes: [], arrivedAt: MonotonicInstant(nanoseconds: 0)))
        }
        #expect(store.isFull)
        store.remove(1)
        #expect(!store.isFull)
    }

    @Test("a failure is an issue that names the guarantee and what the store did")
    func issue() async {
        await withKnownIssue {
            await DeadLetterStoreContract {
                FaultyLetters(InMemoryDeadLetterStore(capacity: $0, bytes: $1), .forgetsLast)
            }.verify()
        } matching: { issue in
            issue.comments.map(\.rawValue) == [
                "concurrent calls are atomic: all that were taken should be there, in their order"
            ]
        }
    }
}

/// A store with one thing wrong with it.
final class FaultyLetters: DeadLetterStore {
    enum Fault: CaseIterable, Sendable {
        case losesTime, normalises, losesCause, forgetsLast, newestFirst, usesNumbersAgain, skipsNumbers, removesFirst
        case saysGone, changesWhenFull, neverFull, ignoresBytes, foldsNothing, losesSummary, keepsOldest
        case forgetsWideKeys, forgetsWideBytes, removesMerged, removesTwice
        case countsMessages, fullTooEarly, movesRoutes, movesMergedRoutes

        /// How the text of the promise that it breaks begins.
        var promise: String {
            switch self {
            case .losesTime, .normalises, .losesCause: "a letter is returned unchanged"
            case .forgetsLast: "concurrent calls are atomic"
            case .newestFirst: "letters are returned in the order"
            case .usesNumbersAgain: "the number of a removed letter"
            case .skipsNumbers: "numbers go up from 1"
            case .removesFirst: "a letter is removed once by its number"
            case .saysGone: "removing an unknown letter"
            case .changesWhenFull, .fullTooEarly: "beyond its count"
            case .neverFull: "a store of capacity 0"
            case .ignoresBytes: "beyond its bytes"
            case .foldsNothing: "one key may use a fifth of the bytes"
            case .losesSummary, .keepsOldest, .countsMessages: "one key may use a tenth of the letters"
            case .removesMerged, .removesTwice: "a letter into which another one was merged"
            case .forgetsWideKeys: "a wider key may use half of the letters"
            case .forgetsWideBytes: "a wider key may use half of the bytes"
            case .movesRoutes, .movesMergedRoutes: "routes are recorded for the letter that was read"
            }
        }
    }

    private let store: InMemoryDeadLetterStore
    private let spare = InMemoryDeadLetterStore(capacity: 10_000)
    private let fault: Fault
    /// What letters had before others were folded into them.
    private let oldest = Mutex<[UInt64: RawPayload]>([:])

    init(_ store: InMemoryDeadLetterStore, _ fault: Fault) {
        self.store = store
        self.fault = fault
    }

    func add(_ letter: DeadLetter) throws -> UInt64 {
        switch fault {
        case .neverFull: return try spare.add(letter)
        case .ignoresBytes where letter.payload.bytes.count < 1000:
            return try store.add(
                DeadLetter(payload: RawPayload([]), reason: .failed, routes: [], arrivedAt: letter.arrivedAt))
        case .usesNumbersAgain:
            _ = try store.add(letter)
            return UInt64(store.letters().count)
        case .skipsNumbers: return try store.add(letter) * 2
        case .foldsNothing, .forgetsWideKeys, .forgetsWideBytes:
            var changed = letter
            changed.keys = fault == .foldsNothing ? [] : Array(letter.keys.prefix(1))
            return try store.add(fault == .forgetsWideBytes && letter.payload.bytes.count <= 8 ? letter : changed)
        case .keepsOldest:
            let before = store.letters()
            let id = try store.add(letter)
            if let old = before.first(where: { $0.id == id }) {
                oldest.withLock { $0[id] = $0[id] ?? old.payload }
            }
            return id
        case .changesWhenFull:
            do { return try store.add(letter) } catch {
                if let first = store.letters().first { store.remove(first.id) }
                throw error
            }
        default: return try store.add(letter)
        }
    }

    func letters() throws -> [DeadLetter] {
        var letters = fault == .neverFull ? spare.letters() : store.letters()
        switch fault {
        case .newestFirst: letters.reverse()
        case .forgetsLast where letters.count > 20: letters.removeLast()
        default: break
        }
        return letters.map(changed)
    }

    private func changed(_ letter: DeadLetter) -> DeadLetter {
        let payload = oldest.withLock { $0[letter.id] } ?? letter.payload
        var (routes, time) = (letter.routes, letter.arrivedAt)
        switch fault {
        case .losesTime: time = .seconds(time.nanoseconds / 1_000_000_000)
        case .normalises: routes = routes.map { $0 == "e\u{301}" ? "\u{E9}" : $0 }
        default: break
        }
        var changed = DeadLetter(
            id: letter.id, payload: payload, reason: letter.reason, routes: routes, arrivedAt: time)
        if fault != .losesSummary { changed.summary = letter.summary }
        (changed.attempts, changed.rulesGeneration) = (letter.attempts, letter.rulesGeneration)
        if fault != .losesCause { changed.cause = letter.cause }
        return changed
    }

    func remove(_ letter: DeadLetter) throws -> Bool {
        switch fault {
        case .removesMerged: store.remove(letter.id)
        case .removesTwice: store.remove(letter) || !store.contains(letter.id)
        case .neverFull: spare.remove(letter)
        default: store.remove(letter)
        }
    }

    func setRoutes(_ routes: [String], of letter: DeadLetter) throws {
        switch fault {
        case .movesRoutes:
            if let first = store.letters().first { store.setRoutes(routes, of: first) }
        case .movesMergedRoutes:
            if let found = store.letters().first(where: { $0.id == letter.id }) { store.setRoutes(routes, of: found) }
        default: store.setRoutes(routes, of: letter)
        }
    }

    var count: Int {
        get throws { try letters().reduce(0) { $0 + (fault == .countsMessages ? $1.count : 1) } }
    }

    var isFull: Bool { fault == .fullTooEarly ? !store.letters().isEmpty : store.isFull }

    func remove(_ id: UInt64) throws -> Bool {
        switch fault {
        case .removesFirst: return store.letters().first.map { store.remove($0.id) } ?? false
        case .saysGone: return store.remove(id) || id > 1
        case .neverFull: return spare.remove(id)
        case .skipsNumbers: return store.remove(id / 2)
        default: return store.remove(id)
        }
    }
}
