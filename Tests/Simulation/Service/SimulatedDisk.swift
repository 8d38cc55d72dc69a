import KiiPush
import KiiPushDelivery
import KiiPushTesting
import Synchronization

/// The stores that survive the processes of a run: the inbox, the dead letters and, in some runs, the deduplication
/// store.
///
/// It writes like the library's database: a commit with any next write of the inbox, and a dead letter with the next
/// record of its own payload. Until then a process knows them, and a crash forgets them. Records that only begin
/// attempts, of payloads that the process has added, survive its end, but a loss of power only with a later write.
final class SimulatedDisk: Sendable {
    private struct State {
        var inbox = InboxTable()
        var dice: SeededGenerator
        /// The dead letters that wait for a record of their payload, by its number.
        var waiting: [UInt64: [UInt64]] = [:]
        /// The number of the last payload of an earlier process.
        var lastOfOthers: UInt64 = 0

        func isBeginning(_ record: InboxRecord) -> Bool {
            if case .begun(let id, _) = record { id > lastOfOthers } else { false }
        }
    }

    private let state: Mutex<State>
    private let seen: SimulatedSeenStore
    fileprivate let ledger: ServiceLedger
    let letters = InMemoryDeadLetterStore(capacity: 100_000)

    init(seed: UInt64, _ ledger: ServiceLedger, _ seen: SimulatedSeenStore, isBroken: Bool) {
        self.isBroken = isBroken
        self.seen = seen
        state = Mutex(State(dice: SeededGenerator(seed: seed)))
        self.ledger = ledger
    }

    /// The payloads that have not ended, by number.
    var rows: [UInt64: InboxTable.Row] { state.withLock { $0.inbox.rows } }

    /// Whether it loses payloads whose handlers are about to run; to test that a run detects it.
    let isBroken: Bool

    func roll(_ sides: Int) -> Int { state.withLock { Int($0.dice.next() % UInt64(sides)) } }

    /// Restarts for another process, which knows only the written state.
    func restart() {
        seen.restart()
        let lost = state.withLock { state in
            state.lastOfOthers = state.inbox.last
            defer { state.waiting = [:] }
            return state.waiting.values.flatMap(\.self)
        }
        for letter in lost { letters.remove(letter) }
    }

    /// Loses what the disk has not confirmed.
    func losePower() { state.withLock { $0.inbox.losePower() } }

    fileprivate func add(_ payloads: [RawPayload]) -> [UInt64] {
        seen.write()
        return state.withLock { state in
            defer { state.inbox.sync() }
            return payloads.map { payload in
                let id = state.inbox.add(payload)
                ledger.tell(payload, "row \(id)")
                return id
            }
        }
    }

    fileprivate func add(_ letter: DeadLetter) throws -> UInt64 {
        let number = try letters.add(letter)
        if let payload = letter.inboxID {
            ledger.tell(letter.payload, "letter \(number) waits")
            state.withLock { $0.waiting[payload, default: []].append(number) }
        }
        return number
    }

    fileprivate func record(_ records: [InboxRecord]) {
        let hasCommits = seen.write()
        state.withLock { state in
            for record in records {
                if let row = state.inbox.rows[record.id] { ledger.tell(row.payload, "\(record)") }
                state.inbox.record(record)
                if case .begun = record {} else { state.waiting[record.id] = nil }
                if isBroken, case .begun(let id, _) = record { state.inbox.lose(id) }
            }
            if hasCommits || !records.allSatisfy(state.isBeginning) { state.inbox.sync() }
        }
    }

    fileprivate func entries(after id: UInt64, limit: Int) -> [InboxEntry] {
        state.withLock { state in
            defer { state.inbox.sync() }
            return state.inbox.entries(after: id, limit: limit)
        }
    }

    fileprivate func entries(of ids: [UInt64]) -> [InboxEntry] { state.withLock { $0.inbox.entries(of: ids) } }
}

/// The life of one process for its disk and broker: after a crash it has no effects.
final class Life: Sendable {
    private let hasCrashed = Atomic<Bool>(false)
    private let failing = Atomic<Bool>(false)

    var isAlive: Bool { !hasCrashed.load(ordering: .relaxed) }
    /// Whether one in four calls of the disk fails now.
    var isDiskFailing: Bool {
        get { failing.load(ordering: .relaxed) }
        set { failing.store(newValue, ordering: .relaxed) }
    }

    func crash() { hasCrashed.store(true, ordering: .relaxed) }

    fileprivate func check(_ disk: SimulatedDisk) throws {
        if !isAlive || isDiskFailing && disk.roll(4) == 0 { throw DiskFailed() }
    }
}

struct DiskFailed: Error {}

/// An inbox on a simulated disk, for one process.
struct SimulatedInbox: Inbox {
    let disk: SimulatedDisk
    let life: Life
    let clock: ManualClock
    /// The longest time of a write, in milliseconds; half of it may pass before the write, half after it.
    let slowness: Int
    let isDurable = true

    func add(_ payloads: [RawPayload]) throws -> [UInt64] {
        try life.check(disk)
        return disk.add(payloads)
    }

    func record(_ records: [InboxRecord]) async throws {
        await wait()
        try life.check(disk)
        disk.record(records)
        await wait()
    }

    private func wait() async {
        guard slowness > 0 else { return }
        let pause = Duration.milliseconds(disk.roll(slowness / 2 + 1))
        if pause > .zero { try? await clock.sleep(until: clock.now.advanced(by: pause)) }
    }

    func entries(after id: UInt64, limit: Int) throws -> [InboxEntry] { disk.entries(after: id, limit: limit) }

    func entries(of ids: [UInt64]) throws -> [InboxEntry] {
        try life.check(disk)
        return disk.entries(of: ids)
    }

    /// None: no message of a simulation expects an answer.
    func answers(of sender: String, limit: Int) -> [UnsentAnswer] { [] }
}

/// The dead letters on a simulated disk, for one process.
struct SimulatedDeadLetters: DeadLetterStore {
    let disk: SimulatedDisk
    let life: Life
    let isDurable = true

    func add(_ letter: DeadLetter) throws -> UInt64 {
        do { try life.check(disk) } catch {
            // The next process tries again to dead-letter the message.
            disk.ledger.excuse(letter.payload)
            throw error
        }
        return try disk.add(letter)
    }

    func letters() throws -> [DeadLetter] { disk.letters.letters() }
    func remove(_ id: UInt64) throws -> Bool { disk.letters.remove(id) }
}
