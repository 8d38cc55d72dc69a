import KiiPushContracts
import Synchronization
import Testing

@testable import KiiPush
@testable import KiiPushDelivery
@testable import KiiPushTestSupport

/// A contract that nothing can break proves nothing, so each promise is broken here.
struct InboxContractTests {
    @Test("the inbox in memory keeps every promise that does not outlive it")
    func inMemory() async {
        await InboxContract { _ in InMemoryInbox() }.verify()
    }

    @Test("an inbox made another way keeps the contract too")
    func sound() async {
        let shelf = Shelf()
        await InboxContract { PlainInbox(shelf, $0) }.verify()
    }

    @Test("each fault of an inbox breaks its guarantee", arguments: PlainInbox.Fault.allCases)
    func broken(fault: PlainInbox.Fault) async {
        let broken = Mutex<Set<String>>([])
        let shelf = Shelf()
        await InboxContract { PlainInbox(shelf, $0, fault) }
            .verify { promise, _ in broken.withLock { _ = $0.insert(promise) } }
        let promises = broken.withLock { $0 }
        #expect(promises.contains { $0.hasPrefix(fault.promise) }, "broken: \(promises.sorted())")
    }

    @Test("an inbox in memory is asked only for what it can promise")
    func brokenInMemory() async {
        let broken = Mutex<Set<String>>([])
        await InboxContract { _ in ForgetfulInbox() }.verify { promise, _ in broken.withLock { _ = $0.insert(promise) }
        }
        #expect(
            broken.withLock { $0 } == [
                "numbers go up from 1, one for each payload, and none for none",
                "the number of a payload that has ended is not used again", "concurrent calls are atomic",
                "an answer is kept for its sender from its payload's end until it was delivered",
                "of two answers of a payload the first counts",
            ])
    }

    @Test("a failure is an issue that names the promise and what the inbox did instead")
    func issue() async {
        let shelf = Shelf()
        await withKnownIssue {
            await InboxContract { PlainInbox(shelf, $0, .losesRedelivery) }.verify()
        } matching: { issue in
            let text = issue.comments.map(\.rawValue).joined(separator: ", ")
            let guarantees = ["a payload is returned byte for byte", "payloads are read again by their numbers"]
            return guarantees.contains { text.hasPrefix($0) }
                && text.hasSuffix("payload 1 should have its redelivery back as it was")
        }
    }
}

/// The tables of a test's inboxes, by place, for those that open them again.
final class Shelf: Sendable {
    let tables = Mutex<[Int: InboxTable]>([:])
}

/// A durable inbox on a plain table, and on demand one thing wrong with it.
struct PlainInbox: Inbox {
    enum Fault: CaseIterable, Sendable {
        case keepsLeftovers, sameNumbers, usesNumbersAgain, startsAnew, losesRedelivery, normalises, movesArrivals
        case newestFirst, keepsEnded, mixesPayloads, dropsCopies, losesRoutes, addsRoutes, remembersUnknown
        case countsNoCrash, neverAlone, crashesTheFailed, forgetsAlone, countsTwice, dropsSome, forgetsLaterNotes
        case ignoresLimit, readsInOwnOrder, crashesTheRead
        case beginsAnew, forgetsCrashes, countsFirstPage, aloneOfItsPage, checkAdds, checkThrows
        case losesUnendedAnswers, newestAnswers
        case keepsNoAnswer, keepsLastAnswer, answersTooEarly, answersAgain, answersAnybody, losesAnswersOfRoutes

        /// How the text of the promise that it breaks begins.
        var promise: String {
            switch self {
            case .keepsLeftovers: "an empty inbox"
            case .sameNumbers: "numbers go up from 1"
            case .usesNumbersAgain: "the number of a payload that has ended"
            case .startsAnew: "not even by another process"
            case .losesRedelivery, .normalises: "a payload is returned byte for byte"
            case .movesArrivals: "payloads keep the time between"
            case .newestFirst, .keepsEnded, .mixesPayloads: "unended payloads are returned"
            case .dropsCopies: "a payload added twice"
            case .losesRoutes, .beginsAnew: "attempts and handled routes"
            case .addsRoutes: "the last record of a payload counts"
            case .remembersUnknown: "a record of an unknown payload"
            case .countsNoCrash, .neverAlone: "a payload in flight at a crash"
            case .crashesTheFailed, .forgetsAlone, .forgetsCrashes: "a payload not in flight"
            case .countsTwice: "asking again"
            case .dropsSome: "concurrent calls are atomic"
            case .forgetsLaterNotes: "records of one call"
            case .ignoresLimit, .countsFirstPage, .aloneOfItsPage:
                "the payloads of an earlier process, and their crashes"
            case .readsInOwnOrder: "payloads are read again"
            case .crashesTheRead: "reading again counts no crash"
            case .checkAdds, .checkThrows: "a check"
            case .keepsNoAnswer, .answersTooEarly, .answersAgain, .answersAnybody, .newestAnswers: "an answer is kept"
            case .keepsLastAnswer, .losesUnendedAnswers: "of two answers"
            case .losesAnswersOfRoutes: "answers of routes"
            }
        }
    }

    let isDurable = true
    private let shelf: Shelf
    private let place: Int
    private let fault: Fault?

    init(_ shelf: Shelf, _ place: Int, _ fault: Fault? = nil) {
        (self.shelf, self.place, self.fault) = (shelf, place, fault)
        use { table in
            if fault == .startsAnew, table.rows.isEmpty { table = InboxTable() }
            if fault == .keepsLeftovers { _ = table.add(RawPayload([])) }
            if fault == .losesUnendedAnswers {
                for id in table.rows.keys { table.record(.answered(id)) }
            }
        }
    }

    private func use<Result: Sendable>(_ body: (inout InboxTable) throws -> Result) rethrows -> Result {
        try shelf.tables.withLock { try body(&$0[place, default: InboxTable()]) }
    }

    func add(_ payloads: [RawPayload]) -> [UInt64] {
        use { table in payloads.map { add($0, to: &table) } }
    }

    private func add(_ payload: RawPayload, to table: inout InboxTable) -> UInt64 {
        let isCopy = table.rows.values.contains { $0.payload == payload }
        let id = table.add(changed(payload))
        switch fault {
        case .dropsCopies where isCopy: table.lose(id)
        case .dropsSome where table.rows.count > 50: table.lose(id)
        case .usesNumbersAgain: return UInt64(table.rows.count)
        case .sameNumbers: return max(id - 1, 1)
        default: break
        }
        return id
    }

    private func changed(_ payload: RawPayload) -> RawPayload {
        var payload = payload
        switch fault {
        case .movesArrivals: payload.arrivedAt = payload.arrivedAt.map { _ in .seconds(1) }
        case .losesRedelivery: payload.isRedelivered = false
        case .normalises where payload.transportMessageID == "\u{E9}": payload.transportMessageID = "e\u{301}"
        default: break
        }
        return payload
    }

    func record(_ records: [InboxRecord]) async {
        let kept = fault == .forgetsLaterNotes ? Array(records.prefix(1)) : records
        for record in kept { use { take(record, &$0) } }
    }

    private func take(_ record: InboxRecord, _ table: inout InboxTable) {
        let row = table.rows[record.id]
        switch (fault, record) {
        case (.keepsEnded, .ended), (.keepsNoAnswer, .answer), (.answersAgain, .answered): break
        case (.remembersUnknown, .begun(table.last + 1, _)): _ = table.add(RawPayload([]))
        case (.beginsAnew, .begun(let id, _)):
            table.record(.failed(id, handled: []))
            table.record(record)
        case (.losesRoutes, .failed(let id, _, let answers)):
            table.record(.failed(id, handled: [], answers: answers))
        case (.addsRoutes, .failed(let id, let routes, let answers)):
            table.record(.failed(id, handled: (row?.handled ?? []) + routes, answers: answers))
        case (.losesAnswersOfRoutes, .failed(let id, let routes, _)): table.record(.failed(id, handled: routes))
        case (.crashesTheFailed, .failed(let id, _, _)):
            table.record(record)
            table.record(.begun(id, attempt: row?.attempts ?? 0))
        case (.keepsLastAnswer, .answer(let answer)):
            table.record(.answered(answer.id))
            table.record(record)
        case (.answersTooEarly, .answer(let answer)):
            table.record(record)
            table.record(.ended(answer.id))
        default: table.record(record)
        }
    }

    func answers(of sender: String, limit: Int) -> [UnsentAnswer] {
        use { table in
            let sender = fault == .answersAnybody ? sender.lowercased() : sender
            guard fault == .newestAnswers else { return table.answers(of: sender, limit: limit) }
            return table.answers(of: sender, limit: .max).suffix(limit)
        }
    }

    func check() throws {
        if fault == .checkThrows { throw CancellationError() }
        if fault == .checkAdds { use { _ = $0.add(RawPayload([])) } }
    }

    func entries(after id: UInt64, limit: Int) -> [InboxEntry] {
        use { table in
            let inFlight = table.rows.filter(\.value.isInFlight)
            let entries = table.entries(after: id, limit: fault == .ignoresLimit ? .max : limit)
            switch fault {
            case .newestFirst: return id == 0 ? entries.reversed() : []
            case .mixesPayloads:
                return zip(entries, entries.map(\.payload).reversed()).map { InboxEntry(id: $0.id, payload: $1) }
            case .countsTwice:
                for (id, row) in inFlight { table.record(.begun(id, attempt: row.attempts)) }
                return entries
            case .countsNoCrash: return entries.map { crashed($0, times: 0, isAlone: false) }
            case .neverAlone: return entries.map { crashed($0, times: $0.crashes, isAlone: false) }
            case .forgetsAlone:
                return entries.map {
                    crashed($0, times: $0.crashes, isAlone: inFlight.count == 1 && inFlight[$0.id] != nil)
                }
            case .forgetsCrashes:
                return entries.map { $0.isSuspect ? $0 : crashed($0, times: 0, isAlone: $0.crashedAlone) }
            case .countsFirstPage where id > 0: return entries.map { crashed($0, times: 0, isAlone: false) }
            case .aloneOfItsPage:
                let isOne = entries.count { inFlight[$0.id] != nil } == 1
                return entries.map { crashed($0, times: $0.crashes, isAlone: isOne && inFlight[$0.id] != nil) }
            default: return entries
            }
        }
    }

    private func crashed(_ entry: InboxEntry, times: Int, isAlone: Bool) -> InboxEntry {
        InboxEntry(
            id: entry.id, payload: entry.payload, attempts: entry.attempts, handled: entry.handled,
            answers: entry.answers, crashes: times, crashedAlone: isAlone)
    }

    func entries(of ids: [UInt64]) -> [InboxEntry] {
        use { table in
            if fault == .crashesTheRead { _ = table.entries(after: 0, limit: 0) }
            return table.entries(of: fault == .readsInOwnOrder ? ids.sorted() : ids)
        }
    }
}

/// An inbox in memory that gives every payload one number.
private struct ForgetfulInbox: Inbox {
    var isDurable: Bool { false }
    func add(_ payloads: [RawPayload]) -> [UInt64] { payloads.map { _ in 7 } }
    func record(_ records: [InboxRecord]) async {}
    func entries(after id: UInt64, limit: Int) -> [InboxEntry] { [] }
    func entries(of ids: [UInt64]) -> [InboxEntry] { [] }
    func answers(of sender: String, limit: Int) -> [UnsentAnswer] { [] }
}
