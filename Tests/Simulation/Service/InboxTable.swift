import KiiPush
import KiiPushDelivery

/// The contents of an inbox on disk: the payloads that have not ended, with their records.
struct InboxTable: Sendable {
    struct Row: Sendable {
        let payload: RawPayload
        var attempts = 0
        var handled: [String] = []
        var answers: [Answer?] = []
        var crashes = 0
        var crashedAlone = false
        var isInFlight = false
        var isSuspect = false
    }

    private(set) var rows: [UInt64: Row] = [:]
    private(set) var last: UInt64 = 0
    private var answers: [UInt64: UnsentAnswer] = [:]
    /// The rows that a loss of power leaves.
    private var confirmed: [UInt64: Row] = [:]

    /// Lets the disk confirm what was written.
    mutating func sync() { confirmed = rows }

    /// Loses what the disk has not confirmed.
    mutating func losePower() { rows = confirmed }

    mutating func add(_ payload: RawPayload) -> UInt64 {
        last += 1
        rows[last] = Row(payload: payload)
        return last
    }

    mutating func record(_ record: InboxRecord) {
        switch record {
        case .begun(let id, let attempt):
            rows[id]?.attempts = attempt
            rows[id]?.isInFlight = true
        case .failed(let id, let handled, let answers):
            rows[id]?.handled = handled
            rows[id]?.answers = answers
            rows[id]?.isInFlight = false
            rows[id]?.isSuspect = false
        case .answer(let answer): if answers[answer.id] == nil { answers[answer.id] = answer }
        case .ended(let id): rows[id] = nil
        case .answered(let id): answers[id] = nil
        @unknown default: fatalError("the table does not know this record")
        }
    }

    /// Loses a payload, which no disk may.
    mutating func lose(_ id: UInt64) { rows[id] = nil }

    /// A page of the payloads that have not ended; reading the first page counts the crashes.
    mutating func entries(after id: UInt64, limit: Int) -> [InboxEntry] {
        if id == 0 { countCrashes() }
        return entries(of: rows.keys.sorted().filter { $0 > id }.prefix(limit))
    }

    func entries(of ids: some Sequence<UInt64>) -> [InboxEntry] {
        ids.compactMap { id in
            rows[id].map { row in
                var entry = InboxEntry(
                    id: id, payload: row.payload, attempts: row.attempts, handled: row.handled,
                    answers: row.answers, crashes: row.crashes, crashedAlone: row.crashedAlone)
                entry.isSuspect = row.isSuspect
                return entry
            }
        }
    }

    var hasAnswers: Bool { !answers.isEmpty }

    /// The answers of ended payloads for a sender.
    func answers(of sender: String, limit: Int) -> [UnsentAnswer] {
        let due = answers.values.filter { rows[$0.id] == nil && $0.sender == sender }
        return Array(due.sorted { $0.id < $1.id }.prefix(limit))
    }

    private mutating func countCrashes() {
        let inFlight = rows.filter(\.value.isInFlight).keys
        for id in inFlight {
            rows[id]?.crashes += 1
            rows[id]?.crashedAlone = inFlight.count == 1
            rows[id]?.isInFlight = false
            rows[id]?.isSuspect = true
        }
    }
}
