public import KiiPush
public import Testing

/// All guarantees of `BreakerStore`, as one test to run against your own store.
///
/// ```swift
/// @Test("my store meets the guarantees of a breaker store")
/// func breakers() async {
///     await BreakerStoreContract { place, capacity in
///         try MyBreakers(file: "\(folder)/\(place)", capacity: capacity)
///     } close: {
///         $0.close()
///     }.verify()
/// }
/// ```
///
/// Each guarantee gets its own store. A failure names the broken guarantee, and what the store did instead. A store
/// with a clock gets the machine's, `SystemClock`.
public struct BreakerStoreContract<Tried: BreakerStore>: Sendable {
    private let open: @Sendable (_ place: Int, _ capacity: Int) throws -> Tried
    private let close: @Sendable (Tried) -> Void

    /// Prepares the suite.
    ///
    /// - Parameters:
    ///   - open: opens the store with this number, such as a file, for this many breakers. A new number means an empty
    ///     store; the same number again opens what a later process would find.
    ///   - close: releases the store's resources, as the end of its process would.
    public init(
        open: @escaping @Sendable (_ place: Int, _ capacity: Int) throws -> Tried,
        close: @escaping @Sendable (Tried) -> Void = { _ in }
    ) {
        self.open = open
        self.close = close
    }

    /// Checks every guarantee, and records an issue for each one that is broken.
    ///
    /// - Parameter sourceLocation: the location of issues.
    public func verify(sourceLocation: SourceLocation = #_sourceLocation) async {
        await verify { guarantee, what in Issue.record("\(guarantee): \(what)", sourceLocation: sourceLocation) }
    }

    /// Checks every guarantee, and reports each broken one to `report`.
    package func verify(_ report: @escaping @Sendable (_ guarantee: String, _ what: String) -> Void) async {
        for (place, guarantee) in BreakerGuarantee.all.enumerated() {
            do {
                let trial = try BreakerTrial(place, guarantee.capacity, open, close) { report(guarantee.text, $0) }
                try await guarantee.check(trial)
                trial.close()
            } catch {
                report(guarantee.text, "the store threw \(error)")
            }
        }
    }
}

/// One guarantee of a breaker store, and the check for it.
struct BreakerGuarantee: Sendable {
    let text: String
    let capacity: Int
    let check: @Sendable (BreakerTrial) async throws -> Void

    init(_ text: String, capacity: Int = 100, check: @escaping @Sendable (BreakerTrial) async throws -> Void) {
        self.text = text
        self.capacity = capacity
        self.check = check
    }
}

/// A test case for one guarantee of a store.
struct BreakerTrial: Sendable {
    /// Reports that the guarantee is broken, and how.
    let fail: @Sendable (_ what: String) -> Void
    private let opened: Reopened<any BreakerStore>

    init<Tried: BreakerStore>(
        _ place: Int, _ capacity: Int, _ open: @escaping @Sendable (Int, Int) throws -> Tried,
        _ close: @escaping @Sendable (Tried) -> Void, fail: @escaping @Sendable (String) -> Void
    ) throws {
        self.fail = fail
        opened = try Reopened {
            let store = try open(place, capacity)
            return Reopened.Opened(tried: store) { close(store) }
        }
    }

    /// The store of the current process.
    var store: any BreakerStore { get throws { try opened.tried } }

    func close() { opened.close() }

    /// Simulates the end of the process and the start of another.
    func restart() throws { try opened.restart() }

    func write(_ opened: [TrippedBreaker] = [], closed: [TrippedBreaker] = []) throws {
        try store.write(opened, closed: closed.map(\.key))
    }

    func expect(_ condition: Bool, _ otherwise: @autoclosure () -> String) {
        if !condition { fail(otherwise()) }
    }

    /// Expects exactly these breakers; their times unchanged, or in a later process approximately.
    func expectKept(_ breakers: [TrippedBreaker], isLater: Bool = false, _ when: String) throws {
        let found = try store.breakers()
        guard found.count == breakers.count, Set(found.map(\.key)) == Set(breakers.map(\.key)) else {
            return fail(
                "\(when) there should be \(breakers.count) breakers, \(words(breakers)); "
                    + "there are \(found.count), \(words(found))")
        }
        for breaker in breakers {
            guard let other = found.first(where: { $0.key == breaker.key }) else { continue }
            expect(
                other.coolDown == breaker.coolDown,
                "\(when) a wait should be \(breaker.coolDown), it is \(other.coolDown)")
            let shift = breaker.until.duration(to: other.until)
            expect(
                shift == .zero || isLater && shift > .seconds(-60) && shift < .seconds(60),
                "\(when) the end of a wait should be as it was, it is \(shift) later")
        }
    }

    private func words(_ breakers: [TrippedBreaker]) -> String {
        breakers.map { "\($0.key.isWide ? "wide" : "narrow") \($0.key.digest)" }.sorted().joined(separator: ", ")
    }
}
