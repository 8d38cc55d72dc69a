import KiiPush
public import KiiPushDelivery
import Synchronization
public import Testing

/// All guarantees of `Inbox`, as one test to run against your own inbox.
///
/// ```swift
/// @Test("my inbox meets the guarantees of an inbox")
/// func inbox() async {
///     await InboxContract { place in
///         try MyInbox(file: "\(folder)/\(place)")
///     } close: {
///         $0.close()
///     }.verify()
/// }
/// ```
///
/// Each guarantee gets its own inbox. A failure names the broken guarantee, and what the inbox did instead. Guarantees
/// about a later process are checked only if the inbox says that it is durable.
public struct InboxContract<Tried: Inbox>: Sendable {
    private let open: @Sendable (_ place: Int) throws -> InboxTrial.Opened

    /// Prepares the suite.
    ///
    /// - Parameters:
    ///   - open: opens the inbox with this number, such as a file. A new number means an empty inbox; the same number
    ///     again opens what a later process would find.
    ///   - close: releases the inbox's resources, as the end of its process would.
    public init(
        open: @escaping @Sendable (_ place: Int) throws -> Tried,
        close: @escaping @Sendable (Tried) -> Void = { _ in }
    ) {
        self.open = { place in
            let inbox = try open(place)
            return InboxTrial.Opened(inbox: inbox) { close(inbox) }
        }
    }

    /// Checks every guarantee, and records an issue for each one that is broken.
    public func verify(sourceLocation: SourceLocation = #_sourceLocation) async {
        await verify { guarantee, what in Issue.record("\(guarantee): \(what)", sourceLocation: sourceLocation) }
    }

    /// Checks every guarantee, and reports each broken one to `report`.
    package func verify(_ report: @escaping @Sendable (_ guarantee: String, _ what: String) -> Void) async {
        for (place, guarantee) in InboxGuarantee.all.enumerated() {
            do {
                let trial = try InboxTrial({ [open] in try open(place) }) { report(guarantee.text, $0) }
                if guarantee.needsDurable && !trial.isDurable { continue }
                try await guarantee.check(trial)
                trial.close()
            } catch {
                report(guarantee.text, "the inbox threw \(error)")
            }
        }
    }
}

/// One guarantee of an inbox, and the check for it.
struct InboxGuarantee: Sendable {
    let text: String
    /// Whether it applies only to an inbox that outlives its process.
    let needsDurable: Bool
    let check: @Sendable (InboxTrial) async throws -> Void

    init(_ text: String, needsDurable: Bool = false, check: @escaping @Sendable (InboxTrial) async throws -> Void) {
        self.text = text
        self.needsDurable = needsDurable
        self.check = check
    }
}

/// A test case for one guarantee of an inbox.
final class InboxTrial: Sendable {
    /// Reports that the guarantee is broken, and how.
    let fail: @Sendable (_ what: String) -> Void
    struct Opened: Sendable {
        let inbox: any Inbox
        let close: @Sendable () -> Void
    }

    private let open: @Sendable () throws -> Opened
    private let opened: Mutex<Opened?>

    init(_ open: @escaping @Sendable () throws -> Opened, fail: @escaping @Sendable (String) -> Void) throws {
        self.fail = fail
        self.open = open
        opened = Mutex(try open())
    }

    /// The inbox of the current process.
    var inbox: any Inbox {
        get throws {
            guard let inbox = opened.withLock({ $0?.inbox }) else { throw InboxIsClosed() }
            return inbox
        }
    }

    var isDurable: Bool { (try? inbox.isDurable) ?? false }

    func close() {
        opened.withLock { opened in
            opened?.close()
            opened = nil
        }
    }

    /// Simulates the end of the process and the start of another, which has read nothing yet.
    func reopen() throws {
        close()
        let next = try open()
        opened.withLock { $0 = next }
    }

    /// The same; returns what the new process finds.
    @discardableResult
    func restart() throws -> [InboxEntry] {
        try reopen()
        return try inbox.entries()
    }

    func expect(_ condition: Bool, _ otherwise: @autoclosure () -> String) {
        if !condition { fail(otherwise()) }
    }

    /// Adds payloads of one byte each, with bytes counted from `first`.
    func add(_ count: Int, from first: Int = 0) throws -> [UInt64] {
        let ids = try inbox.add((0..<count).map { InboxGuarantee.payload(first + $0) })
        expect(ids.count == count, "for \(count) payloads there should be as many numbers, there are \(ids.count)")
        guard ids.count == count else { throw InboxIsClosed() }
        return ids
    }

    func record(_ records: InboxRecord...) async throws {
        for record in records { try await inbox.record(record) }
    }

    /// Expects that a later process finds these, in this order.
    @discardableResult
    func expectLeft(_ ids: [UInt64], _ when: String) throws -> [InboxEntry] {
        let entries = try restart()
        let found = entries.map(\.id)
        expect(found == ids, "\(when) there should be \(ids), there are \(found)")
        return entries
    }
}

/// The test case cannot continue.
private struct InboxIsClosed: Error {}

extension InboxGuarantee {
    // MARK: Crashes

    static let crashes = [
        Self("a payload in flight at a crash counts one crash more, and is marked if it was alone", needsDurable: true)
        {
            trial in
            let ids = try trial.add(4)
            try await trial.record(.begun(ids[1], attempt: 1))
            try trial.expectCrashes([0, 1, 0, 0], alone: [ids[1]], "when the second was in flight")
            try await trial.record(.begun(ids[0], attempt: 1), .begun(ids[1], attempt: 2), .begun(ids[2], attempt: 1))
            try trial.expectCrashes([1, 2, 1, 0], alone: [], "when three were in flight")
            try await trial.record(.begun(ids[1], attempt: 3))
            try trial.expectCrashes([1, 3, 1, 0], alone: [ids[1]], "when it was alone again")
        },
        Self("a payload not in flight at a crash counts none", needsDurable: true) { trial in
            let ids = try trial.add(4)
            try await trial.record(
                .begun(ids[0], attempt: 1), .begun(ids[1], attempt: 1), .failed(ids[0], handled: []),
                .begun(ids[3], attempt: 1), .ended(ids[3]))
            let left = Array(ids.dropLast())
            try trial.expectCrashes([0, 1, 0], alone: [left[1]], "when one had failed and one had ended")
            try trial.expectCrashes([0, 1, 0], alone: [left[1]], "when none was in flight since")
            try await trial.record(.begun(left[1], attempt: 2), .failed(left[1], handled: []))
            try trial.expectCrashes([0, 1, 0], alone: [left[1]], "when it has failed since")
        },
        Self("asking again counts no crash", needsDurable: true) { trial in
            let ids = try trial.add(1)
            try await trial.record(.begun(ids[0], attempt: 1))
            try trial.restart()
            let again = try trial.inbox.entries().map(\.crashes)
            trial.expect(again == [1], "there should be one crash, there are \(again)")
        },
    ]

    // MARK: Concurrency

    static let atOnce = [
        Self("concurrent calls are atomic") { trial in
            let inbox = try trial.inbox
            let batches = await withTaskGroup(of: [UInt64].self) { group in
                for task in 0..<32 {
                    group.addTask { (try? inbox.add([payload(task), payload(task), payload(task)])) ?? [] }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            let ids = batches.flatMap { $0 }
            trial.expect(ids.count == 96, "96 payloads should have been taken, \(ids.count) were")
            trial.expect(Set(ids).count == ids.count, "two payloads should not have one number")
            trial.expect(batches.allSatisfy { $0 == $0.sorted() }, "numbers should be in the order of the payloads")
            if trial.isDurable { try trial.expectLeft(ids.sorted(), "afterwards") }
        },
        Self("concurrent records all count, in order for each payload") { trial in
            let inbox = try trial.inbox
            let ids = try trial.add(96)
            let failures = await withTaskGroup(of: (any Error)?.self) { group in
                for id in ids {
                    group.addTask {
                        do {
                            for attempt in 1...4 {
                                try await inbox.record(.begun(id, attempt: attempt))
                                try await inbox.record(.failed(id, handled: ["r\(attempt)"]))
                            }
                            if id % 3 == 0 { try await inbox.record(.ended(id)) }
                            return nil
                        } catch { return error }
                    }
                }
                return await group.reduce(into: []) { all, error in if let error { all.append(error) } }
            }
            trial.expect(failures.isEmpty, "\(failures.count) records could not be written")
            guard trial.isDurable else { return }
            let entries = try trial.expectLeft(ids.filter { $0 % 3 != 0 }, "afterwards")
            trial.expect(
                entries.allSatisfy { $0.attempts == 4 && $0.handled == ["r4"] && $0.crashes == 0 },
                "each payload should have its own last records")
        },
    ]
}

extension InboxTrial {
    /// Expects that a later process sees these crash counts, in the payloads' order, and which payloads were alone.
    func expectCrashes(_ crashes: [Int], alone: [UInt64], _ when: String) throws {
        let entries = try restart()
        let found = entries.map(\.crashes)
        expect(found == crashes, "\(when) the crashes should be \(crashes), they are \(found)")
        let foundAlone = entries.filter(\.crashedAlone).map(\.id)
        expect(foundAlone == alone, "\(when) those alone should be \(alone), they are \(foundAlone)")
    }
}
