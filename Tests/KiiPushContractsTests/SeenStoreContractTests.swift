import KiiPushContracts
import Synchronization
import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

/// A contract that nothing can break proves nothing, so each promise is broken once here.
struct SeenStoreContractTests {
    @Test("a store made another way keeps the contract too")
    func soundStore() async {
        await SeenStoreContract { PlainSeenStore($0) }.verify()
    }

    @Test("each fault of a store breaks its guarantee", arguments: PlainSeenStore.Fault.allCases)
    func brokenStore(fault: PlainSeenStore.Fault) async {
        let broken = Mutex<Set<String>>([])
        await SeenStoreContract { PlainSeenStore($0, fault: fault) }
            .verify { promise, _ in broken.withLock { _ = $0.insert(promise) } }
        let promises = broken.withLock { $0 }
        #expect(promises.contains { $0.hasPrefix(fault.rawValue) }, "broken: \(promises.sorted())")
    }

    @Test("a failure is an issue that names the guarantee and what the store did")
    func issue() async {
        await withKnownIssue {
            await SeenStoreContract { PlainSeenStore($0, fault: .remembersOneOfNone) }.verify()
        } matching: { issue in
            issue.comments.map(\.rawValue) == [
                "a window of count 0 remembers nothing: after a commit that is not remembered a message should be "
                    + "fresh, it was done"
            ]
        }
    }

    @Test("a store that throws breaks every promise, and none of them ends the suite")
    func throwingStore() async {
        let reports = Mutex<[String]>([])
        await SeenStoreContract { _ in throw StoreError() }
            .verify { promise, what in reports.withLock { $0.append("\(promise): \(what)") } }
        let all = reports.withLock { $0 }
        #expect(all.count > 20)
        #expect(all.allSatisfy { $0.hasSuffix(": the store threw StoreError()") })
    }

    private struct StoreError: Error {}
}

/// A seen store with nothing clever in it: one list, searched from front to back; and on demand one thing wrong with
/// it.
final class PlainSeenStore: SeenStore {
    /// What is wrong with it, and how the text of the guarantee begins that breaks.
    enum Fault: String, CaseIterable, Sendable {
        case marksBeforeTheEnd = "a message is fresh, then in flight, then done"
        case forgetsReleases = "a message that was released is fresh again"
        case sameNumbers = "messages do not affect each other"
        case ignoresSecondKey = "a message with two keys is found by either key"
        case releasesOneKey = "a release frees both keys"
        case reservesForDuplicates = "a duplicate reserves no key, not even a new one"
        case leaseEndsByAge = "a lease never expires by age"
        case leaseEndsByCount = "a lease is never evicted by count"
        case commitsEndedLeases = "an ended lease has no effect"
        case endsUnknownLeases = "a lease that the store never issued has no effect"
        case renewsOnCommit = "a second commit of a lease does not renew it"
        case renewsOnQuestion = "being asked for again does not make a message remembered longer"
        case countsFromBegin = "the age counts from the commit"
        case movesArrivals = "messages of a backlog are compared by arrival time"
        case ignoresWeakAge = "a message with a weak key is the same for the weak age"
        case ignoresStrongAge = "a message with strong keys is remembered for the window's age"
        case ignoresCount = "the window's count is remembered, the oldest forgotten first"
        case forgetsNewest = "the window's count is remembered"
        case countsKeys = "a message with two keys counts once, and loses both at once"
        case oneCountForAll = "messages with weak keys never displace those with strong ones"
        case remembersOneOfNone = "a window of count 0 remembers nothing"
        case needsTimeToPass = "a store works while time stands still"
        case losesOvertaken = "a message is done for a call whose time is before its commit"
        case forgetsWhatWaited = "a message is done for a call that waited"
        case keepsForYears = "a clock that is set back by years keeps no message for years"
        case neverTooOld = "a clock that is set forward by years makes no new message a duplicate"
        case countsKeysAsMessages = "a store with counts reports what it holds and what it evicted early"
        case ignoresOtherSecondKeys = "where two messages have two keys each, the second key decides"
        case countsWeakFromCommit = "the weak age counts from the arrival, not from the commit"
        case keepsWeakInFlight = "the weak age counts while the first message is in flight too"
        case knowsOneOfAWeakKey = "messages of a backlog"
        case knowsOnlyLaterCopies = "whichever of two messages with a weak key arrived first"
        case forgetsWeakByArrival = "a copy with a weak key may wait for as long as the window's age"
        case givesOneTwice = "if many calls begin one message at once, exactly one gets the lease"
    }

    private struct Entry {
        let number: UInt64
        var keys: [DedupeKey]
        let strength: DedupeKeys.Strength
        let begun: MonotonicInstant
        var committed: MonotonicInstant?

        func has(_ wanted: [DedupeKey]) -> Bool { keys.contains { wanted.contains($0) } }

        func isSame(_ wanted: [DedupeKey]) -> Bool {
            keys.count > 1 && wanted.count > 1 ? keys[1] == wanted[1] : has(wanted)
        }
    }

    private struct State {
        var entries: [Entry] = []
        var lastNumber: UInt64 = 0
        var questions = 0
        var evictedEarly: [DedupeKeys.Strength: Int] = [:]
    }

    private let window: SeenWindow
    private let fault: Fault?
    private let state = Mutex(State())

    init(_ window: SeenWindow, fault: Fault? = nil) {
        self.window = window
        self.fault = fault
    }

    func begin(_ keys: DedupeKeys, now: MonotonicInstant) -> SeenState {
        let wanted = fault == .ignoresSecondKey ? [keys.primary] : keys.all
        return state.withLock { state in
            state.questions += 1
            if fault == .forgetsWeakByArrival {
                state.entries.removeAll { $0.committed != nil && $0.strength == .weak && !isNear($0, now) }
            }
            if let answer = known(state, keys, wanted, now), fault != .givesOneTwice || state.questions % 9 > 0 {
                note(&state, wanted, now)
                return answer
            }
            return reserve(&state, keys, wanted, now)
        }
    }

    private func known(
        _ state: State, _ keys: DedupeKeys, _ wanted: [DedupeKey], _ now: MonotonicInstant
    ) -> SeenState? {
        for entry in state.entries
        where entry.strength == keys.strength
            && (fault == .ignoresOtherSecondKeys ? entry.has(wanted) : entry.isSame(wanted))
        {
            if let committed = entry.committed {
                if isYoung(entry, committed, now) { return .done }
            } else if isNear(entry, now) || fault == .keepsWeakInFlight,
                fault != .leaseEndsByAge || now < entry.begun.advanced(by: window.age)
            {
                return .inFlight
            }
        }
        return nil
    }

    /// Whether a message that arrived at `now` may be an entry's, as far as the arrivals say.
    private func isNear(_ entry: Entry, _ now: MonotonicInstant) -> Bool {
        guard entry.strength == .weak, fault != .ignoresWeakAge else { return true }
        let difference = entry.begun.duration(to: now)
        return difference < window.weakAge
            && (difference > .zero - window.weakAge && fault != .knowsOnlyLaterCopies || difference >= .zero)
    }

    /// What only a broken store does when it is asked for a message that it knows.
    private func note(_ state: inout State, _ wanted: [DedupeKey], _ now: MonotonicInstant) {
        for index in state.entries.indices where state.entries[index].has(wanted) {
            if fault == .reservesForDuplicates { state.entries[index].keys += wanted }
            if fault == .renewsOnQuestion, state.entries[index].committed != nil {
                state.entries[index].committed = now
            }
        }
    }

    private func isYoung(_ entry: Entry, _ committed: MonotonicInstant, _ now: MonotonicInstant) -> Bool {
        let start = fault == .countsFromBegin ? entry.begun : committed
        if fault == .needsTimeToPass, now == committed { return false }
        if fault == .losesOvertaken, now < committed { return false }
        if entry.strength == .weak, fault == .countsWeakFromCommit {
            return now < start.advanced(by: window.weakAge)
        }
        if entry.strength == .weak { return isNear(entry, now) }
        if fault == .ignoresStrongAge { return true }
        let age = window.age
        let lag = fault == .forgetsWhatWaited ? age / 2 : max(age, .seconds(60))
        if fault != .keepsForYears, now < start.advanced(by: .zero - lag) { return false }
        return now < start.advanced(by: age) || fault == .neverTooOld
    }

    private func reserve(
        _ state: inout State, _ keys: DedupeKeys, _ wanted: [DedupeKey], _ now: MonotonicInstant
    ) -> SeenState {
        state.lastNumber += fault == .sameNumbers && state.lastNumber == 1 ? 0 : 1
        state.entries.append(
            Entry(
                number: state.lastNumber, keys: wanted, strength: keys.strength, begun: now,
                committed: fault == .marksBeforeTheEnd ? now : nil))
        if fault == .leaseEndsByCount, state.entries.count > 20 { state.entries.removeFirst() }
        return .fresh(
            SeenLease(number: state.lastNumber, keys: keys, arrivedAt: fault == .movesArrivals ? .seconds(0) : now))
    }

    func commit(_ lease: SeenLease, now: MonotonicInstant) {
        state.withLock { state in
            guard let index = state.entries.firstIndex(where: { isMeant($0, by: lease) }) else {
                if fault == .commitsEndedLeases {
                    state.entries.append(
                        Entry(
                            number: lease.number, keys: lease.keys.all, strength: lease.keys.strength, begun: now,
                            committed: now))
                }
                return
            }
            var entry = state.entries.remove(at: index)
            entry.committed = now
            if fault == .knowsOneOfAWeakKey, entry.strength == .weak {
                state.entries.removeAll { $0.committed != nil && $0.isSame(entry.keys) }
            }
            state.entries.append(entry)
            forget(&state, like: entry)
        }
    }

    /// Forgets the oldest handled message, if there are more than the window counts.
    private func forget(_ state: inout State, like entry: Entry) {
        let isCounted = { [fault] (other: Entry) in
            other.committed != nil && (fault == .oneCountForAll || other.strength == entry.strength)
        }
        let counted = state.entries.filter(isCounted)
        let count = fault == .countsKeys ? counted.reduce(0) { $0 + $1.keys.count } : counted.count
        let limit = fault == .remembersOneOfNone ? max(window.count, 1) : window.count
        guard count > limit, fault != .ignoresCount else { return }
        let oldest =
            fault == .forgetsNewest
            ? state.entries.lastIndex(where: isCounted) : state.entries.firstIndex(where: isCounted)
        guard let oldest else { return }
        let removed = state.entries.remove(at: oldest)
        if let now = entry.committed, let committed = removed.committed, isYoung(removed, committed, now) {
            state.evictedEarly[removed.strength, default: 0] += 1
        }
    }

    var counts: SeenCounts? {
        state.withLock { state in
            func window(_ strength: DedupeKeys.Strength) -> SeenCounts.Window {
                let entries = state.entries.filter { $0.committed != nil && $0.strength == strength }
                let keys = entries.reduce(0) { $0 + $1.keys.count }
                return SeenCounts.Window(
                    remembered: fault == .countsKeysAsMessages ? keys : entries.count,
                    evictedEarly: state.evictedEarly[strength] ?? 0)
            }
            return SeenCounts(
                inFlight: state.entries.count { $0.committed == nil }, strong: window(.strong), weak: window(.weak))
        }
    }

    func release(_ lease: SeenLease) {
        if fault == .forgetsReleases { return }
        state.withLock { state in
            guard let index = state.entries.firstIndex(where: { isMeant($0, by: lease) }) else { return }
            let entry = state.entries.remove(at: index)
            if fault == .releasesOneKey, entry.keys.count > 1 {
                state.entries.append(
                    Entry(
                        number: .max, keys: [entry.keys[1]], strength: entry.strength, begun: entry.begun,
                        committed: nil))
            }
        }
    }

    private func isMeant(_ entry: Entry, by lease: SeenLease) -> Bool {
        if fault == .endsUnknownLeases { return entry.committed == nil && entry.keys == lease.keys.all }
        if fault == .renewsOnCommit { return entry.number == lease.number }
        return entry.number == lease.number && entry.committed == nil
    }
}

extension DedupeKeys {
    fileprivate var all: [DedupeKey] { [primary] + (secondary.map { [$0] } ?? []) }
}
