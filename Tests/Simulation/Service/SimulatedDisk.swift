import KiiPush
import KiiPushDelivery
import KiiPushTesting
import Synchronization

/// What survives the processes of a run: the inbox, the dead letters and, of some runs, the deduplication store.
final class SimulatedDisk: Sendable {
    struct Row: Sendable {
        let payload: RawPayload
        var attempts = 0
        var handled: [String] = []
        var crashes = 0
        var crashedAlone = false
        var isInFlight = false
    }

    private struct State {
        var rows: [UInt64: Row] = [:]
        var last: UInt64 = 0
        var dice: SeededGenerator
    }

    private let state: Mutex<State>
    fileprivate let ledger: ServiceLedger
    let letters = InMemoryDeadLetterStore()

    init(seed: UInt64, _ ledger: ServiceLedger, isBroken: Bool) {
        self.isBroken = isBroken
        state = Mutex(State(dice: SeededGenerator(seed: seed)))
        self.ledger = ledger
    }

    /// What has not ended, by number.
    var rows: [UInt64: Row] { state.withLock { $0.rows } }

    /// Loses payloads whose handlers are about to run: for a check that a run notices.
    let isBroken: Bool

    func roll(_ sides: Int) -> Int { state.withLock { Int($0.dice.next() % UInt64(sides)) } }

    fileprivate func add(_ payloads: [RawPayload]) -> [UInt64] {
        state.withLock { state in
            payloads.map { payload in
                state.last += 1
                state.rows[state.last] = Row(payload: payload)
                ledger.tell(payload, "row \(state.last)")
                return state.last
            }
        }
    }

    fileprivate func record(_ records: [InboxRecord]) {
        state.withLock { state in
            for record in records {
                if let row = state.rows[record.id] { ledger.tell(row.payload, "\(record)") }
                switch record {
                case .begun(let id, let attempt):
                    state.rows[id]?.attempts = attempt
                    state.rows[id]?.isInFlight = true
                    if isBroken { state.rows[id] = nil }
                case .failed(let id, let handled):
                    state.rows[id]?.handled = handled
                    state.rows[id]?.isInFlight = false
                case .ended(let id): state.rows[id] = nil
                @unknown default: fatalError("the simulated disk does not know this record")
                }
            }
        }
    }

    fileprivate func countCrashes() {
        state.withLock { state in
            let inFlight = state.rows.filter(\.value.isInFlight).keys
            for id in inFlight {
                state.rows[id]?.crashes += 1
                state.rows[id]?.crashedAlone = inFlight.count == 1
                state.rows[id]?.isInFlight = false
            }
        }
    }
}

/// One process, as far as its disk and its broker see: what it does after it has crashed does not happen.
final class Life: Sendable {
    let number: Int
    private let hasCrashed = Atomic<Bool>(false)
    private let failing = Atomic<Bool>(false)

    init(number: Int) { self.number = number }

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
    /// The longest that a write takes, in milliseconds; half of it may pass before the write, half after it.
    let slowness: Int
    let isDurable = true

    func add(_ payloads: [RawPayload]) throws -> [UInt64] {
        try life.check(disk)
        return disk.add(payloads)
    }

    func record(_ records: [InboxRecord]) async throws {
        try await wait()
        try life.check(disk)
        disk.record(records)
        try await wait()
    }

    private func wait() async throws {
        guard slowness > 0 else { return }
        let pause = Duration.milliseconds(disk.roll(slowness / 2 + 1))
        if pause > .zero { try? await clock.sleep(until: clock.now.advanced(by: pause)) }
    }

    func entries(after id: UInt64, limit: Int) throws -> [InboxEntry] {
        if id == 0 { disk.countCrashes() }
        return disk.rows.sorted { $0.key < $1.key }.filter { $0.key > id }.prefix(limit).map(Self.entry)
    }

    func entries(of ids: [UInt64]) throws -> [InboxEntry] {
        try life.check(disk)
        let rows = disk.rows
        return ids.compactMap { id in rows[id].map { Self.entry(id, $0) } }
    }

    private static func entry(_ id: UInt64, _ row: SimulatedDisk.Row) -> InboxEntry {
        InboxEntry(
            id: id, payload: row.payload, attempts: row.attempts, handled: row.handled, crashes: row.crashes,
            crashedAlone: row.crashedAlone)
    }
}

/// The dead letters on a simulated disk, for one process.
struct SimulatedDeadLetters: DeadLetterStore {
    let disk: SimulatedDisk
    let life: Life
    let isDurable = true

    func add(_ letter: DeadLetter) throws -> UInt64 {
        do { try life.check(disk) } catch {
            // What found no room among the dead letters is tried again by the next process.
            disk.ledger.excuse(letter.payload)
            throw error
        }
        // As a store that writes the letter together with the end of its payload: none twice after a crash.
        if let inboxID = letter.inboxID, let known = disk.letters.letters().first(where: { $0.inboxID == inboxID }) {
            return known.id
        }
        return try disk.letters.add(letter)
    }

    func letters() throws -> [DeadLetter] { disk.letters.letters() }
    func remove(_ id: UInt64) throws -> Bool { disk.letters.remove(id) }
}
