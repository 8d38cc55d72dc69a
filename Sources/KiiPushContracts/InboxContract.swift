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
    private let open: @Sendable (_ place: Int) throws -> Tried
    private let close: @Sendable (Tried) -> Void

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
        for (place, guarantee) in InboxGuarantee.all.enumerated() {
            do {
                let trial = try InboxTrial(place, open, close) { report(guarantee.text, $0) }
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
    private struct Opened: Sendable {
        let inbox: any Inbox
        let close: @Sendable () -> Void
    }

    private let open: @Sendable () throws -> Opened
    private let opened: Mutex<Opened?>

    init<Tried: Inbox>(
        _ place: Int, _ open: @escaping @Sendable (Int) throws -> Tried, _ close: @escaping @Sendable (Tried) -> Void,
        fail: @escaping @Sendable (String) -> Void
    ) throws {
        self.fail = fail
        self.open = {
            let inbox = try open(place)
            return Opened(inbox: inbox) { close(inbox) }
        }
        opened = Mutex(try self.open())
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

    /// Simulates the end of the process and the start of another; returns what the new process finds.
    @discardableResult
    func restart() throws -> [InboxEntry] {
        close()
        let next = try open()
        opened.withLock { $0 = next }
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
