import KiiPushContracts
import Synchronization
import Testing

@testable import KiiPush
@testable import KiiPushDelivery
@testable import KiiPushTestSupport

/// A contract that nothing can break proves nothing, so each promise is broken once here.
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

    @Test("an inbox with one thing wrong breaks the promise about it", arguments: PlainInbox.Fault.allCases)
    func broken(fault: PlainInbox.Fault) async {
        let broken = Mutex<Set<String>>([])
        let shelf = Shelf()
        await InboxContract { PlainInbox(shelf, $0, fault) }
            .verify { promise, _ in broken.withLock { _ = $0.insert(promise) } }
        let promises = broken.withLock { $0 }
        #expect(promises.contains { $0.hasPrefix(fault.promise) }, "broken: \(promises.sorted())")
    }

    @Test("one that keeps nothing in memory either is asked only for what it can promise")
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
            let expected = [
                "a payload is returned byte for byte, with all that its transport reported: at first payload 1 should "
                    + "have its redelivery back as it was",
                "a payload is returned byte for byte, with all that its transport reported: once more payload 1 should "
                    + "have its redelivery back as it was",
                "payloads are read again by their numbers, in that order, with their records: in the process that added them "
                    + "payload 1 should have its redelivery back as it was",
                "payloads are read again by their numbers, in that order, with their records: in a later one payload 1 "
                    + "should have its redelivery back as it was",
            ]
            return issue.comments.count == 1 && expected.contains(issue.comments[0].rawValue)
        }
    }
}

/// What the inboxes of one test leave for those after them, by place.
final class Shelf: Sendable {
    struct Row {
        var entry: InboxEntry
        var isInFlight = false
    }

    struct Place {
        var rows: [Row] = []
        var lastID: UInt64 = 0
        var answers: [UnsentAnswer] = []
    }

    let places = Mutex<[Int: Place]>([:])
}

/// An inbox with nothing clever in it, and on demand one thing wrong with it.
struct PlainInbox: Inbox {
    enum Fault: CaseIterable, Sendable {
        case keepsLeftovers, startsAtZero, sameNumbers, usesNumbersAgain, startsAnew, losesTransport, losesID
        case losesRedelivery, normalises, cutsPayloads, forgetsEmptyPayloads, newestFirst, keepsEnded, endsOldest
        case mixesPayloads, dropsCopies, losesAttempts, losesRoutes, countsAttempts, addsRoutes, throwsForUnknown
        case remembersUnknown, countsNoCrash, countsEveryCrash, crashesTheFailed, allAlone, neverAlone, countsTwice
        case losesArrivals, movesArrivals
        case forgetsAlone, dropsSome, forgetsLaterNotes, turnsNotesRound, ignoresLimit, repeatsPages, readsInOwnOrder
        case readsNoNotes, readsEnded, crashesTheRead
        case keepsNoAnswer, keepsLastAnswer, answersTooEarly, answersAgain, answersAnybody, losesAnswersOfRoutes

        /// How the text of the promise that it breaks begins.
        var promise: String {
            switch self {
            case .keepsLeftovers: "an empty inbox"
            case .startsAtZero, .sameNumbers: "numbers go up from 1"
            case .usesNumbersAgain: "the number of a payload that has ended"
            case .startsAnew: "not even by another process"
            case .losesTransport, .losesID, .losesRedelivery, .normalises, .cutsPayloads, .forgetsEmptyPayloads:
                "a payload is returned byte for byte"
            case .losesArrivals, .movesArrivals: "payloads keep the time between"
            case .newestFirst, .keepsEnded, .endsOldest, .mixesPayloads: "unended payloads are returned"
            case .dropsCopies: "a payload added twice"
            case .losesAttempts, .losesRoutes: "attempts and handled routes"
            case .countsAttempts, .addsRoutes: "the last record of a payload counts"
            case .throwsForUnknown, .remembersUnknown: "a record of an unknown payload"
            case .countsNoCrash, .allAlone, .neverAlone: "a payload in flight at a crash"
            case .countsEveryCrash, .crashesTheFailed, .forgetsAlone: "a payload not in flight"
            case .countsTwice: "asking again"
            case .dropsSome: "concurrent calls are atomic"
            case .forgetsLaterNotes, .turnsNotesRound: "records of one call"
            case .ignoresLimit, .repeatsPages: "the payloads of an earlier process are read in pages"
            case .readsInOwnOrder, .readsNoNotes, .readsEnded: "payloads are read again"
            case .crashesTheRead: "reading again counts no crash"
            case .keepsNoAnswer, .answersTooEarly, .answersAgain, .answersAnybody: "an answer is kept"
            case .keepsLastAnswer: "of two answers"
            case .losesAnswersOfRoutes: "answers of routes"
            }
        }
    }

    struct Unknown: Error {}

    private let shelf: Shelf
    private let place: Int
    private let fault: Fault?

    init(_ shelf: Shelf, _ place: Int, _ fault: Fault? = nil) {
        (self.shelf, self.place, self.fault) = (shelf, place, fault)
        if fault == .startsAnew { use { $0.lastID = 0 } }
        if fault == .keepsLeftovers {
            use { $0.rows.append(.init(entry: InboxEntry(id: 77, payload: RawPayload([])))) }
        }
    }

    var isDurable: Bool { true }

    private func use<Result: Sendable>(_ body: (inout Shelf.Place) throws -> Result) rethrows -> Result {
        try shelf.places.withLock { try body(&$0[place, default: Shelf.Place()]) }
    }

    func add(_ payloads: [RawPayload]) throws -> [UInt64] {
        use { place in
            payloads.map { payload in
                switch fault {
                case .usesNumbersAgain: place.lastID = (place.rows.last?.entry.id ?? 0) + 1
                case .startsAtZero where place.lastID == 0 && place.rows.isEmpty: break
                case .sameNumbers where place.lastID == 1: break
                default: place.lastID += 1
                }
                if fault == .dropsCopies, place.rows.contains(where: { $0.entry.payload == payload }) {
                    return place.lastID
                }
                if fault == .dropsSome, place.rows.count > 50 { return place.lastID }
                if fault == .forgetsEmptyPayloads, payload.bytes.isEmpty { return place.lastID }
                place.rows.append(.init(entry: InboxEntry(id: place.lastID, payload: changed(payload))))
                return place.lastID
            }
        }
    }

    private func changed(_ payload: RawPayload) -> RawPayload {
        var payload = payload
        switch fault {
        case .losesTransport: payload.transport = nil
        case .losesArrivals: payload.arrivedAt = nil
        case .movesArrivals: payload.arrivedAt = payload.arrivedAt.map { _ in .seconds(1) }
        case .losesID: payload.transportMessageID = payload.transportMessageID.flatMap { $0.isEmpty ? nil : $0 }
        case .losesRedelivery: payload.isRedelivered = false
        case .normalises where payload.transportMessageID == "\u{E9}": payload.transportMessageID = "e\u{301}"
        case .cutsPayloads: payload.bytes = Array(payload.bytes.prefix(65_535))
        default: break
        }
        return payload
    }

    func record(_ records: [InboxRecord]) async throws {
        let kept = fault == .forgetsLaterNotes ? records.prefix(1) : records[...]
        for record in fault == .turnsNotesRound ? Array(kept.reversed()) : Array(kept) { try take(record) }
    }

    private func take(_ record: InboxRecord) throws {
        try use { place in
            if case .answered(let id) = record {
                if fault != .answersAgain { place.answers.removeAll { $0.id == id } }
                return
            }
            if case .answer(let answer) = record, fault != .keepsNoAnswer {
                if fault == .keepsLastAnswer { place.answers.removeAll { $0.id == answer.id } }
                if !place.answers.contains(where: { $0.id == answer.id }) { place.answers.append(answer) }
                return
            }
            guard let index = place.rows.firstIndex(where: { $0.entry.id == record.id }) else {
                if fault == .throwsForUnknown { throw Unknown() }
                if fault == .remembersUnknown, case .begun(let id, _) = record {
                    place.rows.append(.init(entry: InboxEntry(id: id, payload: RawPayload([]))))
                }
                return
            }
            if case .ended = record {
                if fault != .keepsEnded { place.rows.remove(at: fault == .endsOldest ? 0 : index) }
            } else {
                change(&place.rows[index], record)
            }
        }
    }

    private func change(_ row: inout Shelf.Row, _ record: InboxRecord) {
        let old = row.entry
        var (attempts, handled, answers) = (old.attempts, old.handled, old.answers)
        switch record {
        case .begun(_, let attempt):
            row.isInFlight = true
            if fault != .losesAttempts { attempts = fault == .countsAttempts ? min(attempts + 1, 7) : attempt }
        case .failed(_, let routes, let given):
            if fault != .losesAnswersOfRoutes { answers = given }
            if fault != .crashesTheFailed { row.isInFlight = false }
            if fault != .losesRoutes { handled = fault == .addsRoutes ? handled + routes : routes }
        case .ended, .answer, .answered: break
        }
        row.entry = InboxEntry(
            id: old.id, payload: old.payload, attempts: attempts, handled: handled, answers: answers,
            crashes: old.crashes, crashedAlone: old.crashedAlone)
    }

    func answers(of sender: String, limit: Int) -> [UnsentAnswer] {
        use { place in
            let due = place.answers.filter { answer in
                (fault == .answersTooEarly || !place.rows.contains { $0.entry.id == answer.id })
                    && (fault == .answersAnybody || answer.sender == sender)
            }
            return Array(due.sorted { $0.id < $1.id }.prefix(limit))
        }
    }

    func entries(after id: UInt64, limit: Int) throws -> [InboxEntry] {
        let all = id == 0 ? left() : use { $0.rows.map(\.entry) }
        if fault == .newestFirst || fault == .startsAtZero { return id == 0 ? all : [] }
        let page = all.filter { $0.id > (fault == .repeatsPages && id > 0 ? id - 1 : id) }
        return fault == .ignoresLimit ? page : Array(page.prefix(limit))
    }

    func entries(of ids: [UInt64]) throws -> [InboxEntry] {
        use { place in
            if fault == .crashesTheRead {
                for index in place.rows.indices { countCrash(&place.rows[index], isAlone: true) }
            }
            if fault == .readsInOwnOrder { return place.rows.map(\.entry).filter { ids.contains($0.id) } }
            return ids.compactMap { id in
                guard let entry = place.rows.first(where: { $0.entry.id == id })?.entry else {
                    return fault == .readsEnded ? InboxEntry(id: id, payload: RawPayload([])) : nil
                }
                return fault == .readsNoNotes ? InboxEntry(id: id, payload: entry.payload) : entry
            }
        }
    }

    private func left() -> [InboxEntry] {
        use { place in
            let inFlight = place.rows.count(where: \.isInFlight)
            for index in place.rows.indices {
                countCrash(&place.rows[index], isAlone: inFlight == 1)
                if fault != .countsTwice { place.rows[index].isInFlight = false }
            }
            var entries = place.rows.map(\.entry)
            if fault == .newestFirst { entries.reverse() }
            if fault == .mixesPayloads {
                let payloads = Array(entries.map(\.payload).reversed())
                entries = zip(entries, payloads).map { InboxEntry(id: $0.id, payload: $1) }
            }
            return entries
        }
    }

    private func countCrash(_ row: inout Shelf.Row, isAlone: Bool) {
        let old = row.entry
        let counts = fault == .countsEveryCrash ? true : fault == .countsNoCrash ? false : row.isInFlight
        let wasAlone = fault == .forgetsAlone ? false : old.crashedAlone
        let nowAlone = fault == .allAlone ? true : fault == .neverAlone ? false : isAlone
        row.entry = InboxEntry(
            id: old.id, payload: old.payload, attempts: old.attempts, handled: old.handled, answers: old.answers,
            crashes: old.crashes + (counts ? 1 : 0), crashedAlone: counts ? nowAlone : wasAlone)
    }
}

/// An inbox in memory that gives every payload one number.
private struct ForgetfulInbox: Inbox {
    var isDurable: Bool { false }
    func add(_ payloads: [RawPayload]) -> [UInt64] { payloads.map { _ in 7 } }
    func record(_ records: [InboxRecord]) async {}
    func entries(after id: UInt64, limit: Int) -> [InboxEntry] { [] }
    func entries(of ids: [UInt64]) -> [InboxEntry] { [] }
}
