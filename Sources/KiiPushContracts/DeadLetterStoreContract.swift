public import KiiPush
public import Testing

/// All guarantees of `DeadLetterStore`, as one test to run against your own store.
///
/// ```swift
/// @Test("my store meets the guarantees of a dead-letter store")
/// func letters() async {
///     await DeadLetterStoreContract { capacity, bytes in MyLetters(capacity: capacity, bytes: bytes) }.verify()
/// }
/// ```
///
/// Each guarantee gets its own store. A failure names the broken guarantee, and what the store did instead.
public struct DeadLetterStoreContract: Sendable {
    private let makeStore: @Sendable (_ capacity: Int, _ bytes: Int) throws -> any DeadLetterStore

    /// Takes what makes an empty store with a capacity in letters and in payload bytes; called once per guarantee, so a
    /// store in a file needs a new file each time.
    public init(makeStore: @escaping @Sendable (_ capacity: Int, _ bytes: Int) throws -> any DeadLetterStore) {
        self.makeStore = makeStore
    }

    /// Checks every guarantee, and records an issue for each one that is broken.
    public func verify(sourceLocation: SourceLocation = #_sourceLocation) async {
        await verify { guarantee, what in Issue.record("\(guarantee): \(what)", sourceLocation: sourceLocation) }
    }

    /// Checks every guarantee, and reports each broken one to `report`.
    package func verify(_ report: @escaping @Sendable (_ guarantee: String, _ what: String) -> Void) async {
        for guarantee in DeadLetterGuarantee.all {
            do {
                let store = try makeStore(guarantee.capacity, guarantee.bytes)
                try await guarantee.check(DeadLetterTrial(store: store) { report(guarantee.text, $0) })
            } catch {
                report(guarantee.text, "the store threw \(error)")
            }
        }
    }
}

/// One guarantee of a dead-letter store, and the check for it.
struct DeadLetterGuarantee: Sendable {
    let text: String
    let capacity: Int
    let bytes: Int
    let check: @Sendable (DeadLetterTrial) async throws -> Void

    init(
        _ text: String, capacity: Int = 100, bytes: Int = 1 << 20,
        check: @escaping @Sendable (DeadLetterTrial) async throws -> Void
    ) {
        self.text = text
        self.capacity = capacity
        self.bytes = bytes
        self.check = check
    }
}

/// A test case for one guarantee of a store.
struct DeadLetterTrial: Sendable {
    let store: any DeadLetterStore
    /// Reports that the guarantee is broken, and how.
    let fail: @Sendable (_ what: String) -> Void

    func expect(_ condition: Bool, _ otherwise: String) {
        if !condition { fail(otherwise) }
    }

    /// Adds a letter that is merged into no other one, and returns it with its expected number.
    func add(_ letter: DeadLetter) throws -> DeadLetter {
        let wasFull = try store.isFull
        var letter = letter
        letter.id = try store.add(letter)
        expect(!wasFull || letter.payload.bytes.isEmpty, "a store that says that it is full should refuse a letter")
        return letter
    }

    /// Expects that the store refuses a letter for lack of capacity, and that nothing has changed.
    func expectFull(_ letter: DeadLetter, _ when: String) throws {
        let before = try store.letters()
        do {
            _ = try store.add(letter)
            fail("\(when) a letter should be refused")
        } catch {
            try expectLetters(before, "after a refusal")
        }
    }

    func expectLetters(_ letters: [DeadLetter], _ when: String) throws {
        let (found, count) = (try store.letters(), try store.count)
        expect(count == found.count, "\(when) the count should be \(found.count), it is \(count)")
        guard found.map(\.id) == letters.map(\.id) else {
            return fail("\(when) there should be the letters \(letters.map(\.id)), there are \(found.map(\.id))")
        }
        for (letter, found) in zip(letters, found) {
            let parts = [
                ("payload", found.payload == letter.payload), ("reason", found.reason == letter.reason),
                ("routes", found.routes.map { Array($0.utf8) } == letter.routes.map { Array($0.utf8) }),
                ("time", found.arrivedAt == letter.arrivedAt),
                ("MQTT's words", found.payload.mqtt == letter.payload.mqtt),
                ("transport's id", exactly(found) == exactly(letter)), ("attempts", found.attempts == letter.attempts),
                ("count", found.count == letter.count),
                ("first time", found.summary?.firstArrivedAt == letter.summary?.firstArrivedAt),
                ("bytes lost", found.summary?.bytesLost == letter.summary?.bytesLost),
                ("generation of rules", found.rulesGeneration == letter.rulesGeneration),
                ("cause", found.cause.map { Array($0.utf8) } == letter.cause.map { Array($0.utf8) }),
            ]
            for (part, isSame) in parts where !isSame {
                fail("\(when) letter \(letter.id) should have its \(part) back as it was")
            }
        }
    }

    /// The transport's id, byte for byte: two spellings of one character are two ids.
    private func exactly(_ letter: DeadLetter) -> [UInt8]? { letter.payload.transportMessageID.map { Array($0.utf8) } }
}
