#if SQLite
import KiiPush
import Synchronization

/// The quota of a dead-letter store, and its dead letters that wait in memory for a record of their payload.
final class LetterTable: Sendable {
    /// A dead letter that is not in the file yet.
    struct Waiting: Sendable {
        /// The order of arrival; a dead letter that others are merged into has a ticket for each.
        let ticket: Int64
        /// The number of the dead letter that it is stored as or merged into.
        let number: Int64
        let place: DeadLetterQuota.Place
        let letter: DeadLetter
        let time: StoredTime
    }

    private struct State {
        var room: DeadLetterQuota
        /// The last number that was assigned.
        var last: Int64
        var lastTicket: Int64 = 0
        var waiting: [Int64: Waiting] = [:]
        var inFile: Set<Int64>
    }

    private let state: Mutex<State>

    init(_ room: DeadLetterQuota, last: Int64, inFile: Set<Int64>) {
        state = Mutex(State(room: room, last: last, inFile: inFile))
    }

    var count: Int { state.withLock { $0.room.count } }
    func contains(_ id: UInt64) -> Bool { state.withLock { $0.room.contains(id) } }
    var isFull: Bool { state.withLock { $0.room.isFull } }

    /// Assigns a dead letter its number, or that of the one that it is merged into, and keeps it until it is written.
    func add(_ letter: DeadLetter, _ time: StoredTime) throws(DeadLettersFull) -> Waiting {
        try state.withLock { state throws(DeadLettersFull) in
            var number = state.last + 1
            let place = try state.room.take(letter, as: UInt64(number))
            if case .folded(let id, _) = place { number = Int64(bitPattern: id) } else { state.last = number }
            state.lastTicket += 1
            let waiting = Waiting(
                ticket: state.lastTicket, number: number, place: place, letter: letter, time: time)
            state.waiting[waiting.ticket] = waiting
            return waiting
        }
    }

    /// Removes a dead letter that could not be written.
    func forget(_ waiting: Waiting) {
        state.withLock { state in
            guard state.waiting.removeValue(forKey: waiting.ticket) != nil else { return }
            let id = UInt64(bitPattern: waiting.number)
            switch waiting.place {
            case .new: state.room.remove(id)
            case .folded(_, let growth): state.room.resize(id, by: -(growth ?? 0))
            }
        }
    }

    /// The dead letters that are not in the file yet, in order of arrival.
    var waiting: [Waiting] { state.withLock { $0.waiting.values.sorted { $0.ticket < $1.ticket } } }

    func isWaiting(_ waiting: Waiting) -> Bool { state.withLock { $0.waiting[waiting.ticket] != nil } }

    /// Records that a dead letter is in the file.
    func hasWritten(_ waiting: Waiting) {
        state.withLock { state in
            guard state.waiting.removeValue(forKey: waiting.ticket) != nil else { return }
            state.inFile.insert(waiting.number)
        }
    }

    /// Forgets a dead letter, with all that wait to be merged into it; returns whether there was one.
    ///
    /// Nothing is added meanwhile. `delete` removes it from the file, if it is there; it gets the number of messages
    /// that wait for it, and returns false to keep it.
    func remove(
        _ number: Int64, _ delete: (_ isInFile: Bool, _ waiting: Int) throws(SQLiteError) -> Bool
    ) throws(SQLiteError) -> Bool {
        try state.withLock { state throws(SQLiteError) in
            let waiting = state.waiting.values.filter { $0.number == number }
            let isDeleted = try delete(state.inFile.contains(number), waiting.reduce(0) { $0 + $1.letter.count })
            guard isDeleted, state.room.contains(UInt64(number)) else { return false }
            state.room.remove(UInt64(number))
            state.inFile.remove(number)
            for waiting in waiting { state.waiting[waiting.ticket] = nil }
            return true
        }
    }
}

extension Connection {
    /// Writes a dead letter that has waited: as a new one, or merged into another, which may be newer.
    mutating func write(_ waiting: LetterTable.Waiting) throws(SQLiteError) {
        let time = waiting.time
        var there: (last: Int64, first: Int64)?
        try each("SELECT wall, coalesce(firstWall, wall) FROM deadLetters WHERE id = ?", [.integer(waiting.number)]) {
            there = ($0.integer(0), $0.integer(1))
        }
        guard let there else { return try insert(waiting.letter, waiting.number, time) }
        var keepsPayload = true
        if case .folded(_, growth: nil) = waiting.place { keepsPayload = false }
        if keepsPayload, time.wall >= there.last - Self.jitter {
            try fold(waiting.letter, waiting.number, time)
        } else {
            try count(waiting.letter, waiting.number, time.wall < there.first ? time : nil)
        }
    }

    /// How much two stored times of one moment may differ, in nanoseconds: the two clocks are read one after the other.
    private static var jitter: Int64 { 1_000_000 }

    private mutating func insert(_ letter: DeadLetter, _ id: Int64, _ time: StoredTime) throws(SQLiteError) {
        try each(
            """
            INSERT INTO deadLetters (reason, boot, monotonic, wall, transport, transportMessageID, isRedelivered,
                payloadArrivedAfter, payload, mqtt, attempts, rulesGeneration, cause, id)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """, letter.columns(time) + [.integer(id)]
        ) { _ in }
        try insertRoutes(letter.routes, id)
        for (position, key) in letter.keys.enumerated() {
            try run(
                "INSERT INTO deadLetterKeys VALUES (?, ?, ?, ?)", .integer(id), .integer(Int64(position)),
                .integer(Int64(bitPattern: key.first)), .integer(Int64(bitPattern: key.second)))
        }
    }

    /// Merges a newer dead letter into that of a number, and keeps the newer payload.
    private mutating func fold(_ newer: DeadLetter, _ id: Int64, _ time: StoredTime) throws(SQLiteError) {
        try each(
            """
            UPDATE deadLetters SET count = count + 1, bytesLost = bytesLost + length(payload),
                firstBoot = coalesce(firstBoot, boot), firstMonotonic = coalesce(firstMonotonic, monotonic),
                firstWall = coalesce(firstWall, wall), reason = ?, boot = ?, monotonic = ?, wall = ?, transport = ?,
                transportMessageID = ?, isRedelivered = ?, payloadArrivedAfter = ?, payload = ?, mqtt = ?, attempts = ?,
                rulesGeneration = ?, cause = ? WHERE id = ?
            """, newer.columns(time) + [.integer(id)]
        ) { _ in }
        try setRoutes(newer.routes, id)
    }

    /// Merges another dead letter into that of a number without its payload; `first` is its time if it is the oldest.
    private mutating func count(_ other: DeadLetter, _ id: Int64, _ first: StoredTime?) throws(SQLiteError) {
        try run(
            """
            UPDATE deadLetters SET count = count + 1, bytesLost = bytesLost + ?,
                firstBoot = coalesce(?, firstBoot, boot), firstMonotonic = coalesce(?, firstMonotonic, monotonic),
                firstWall = coalesce(?, firstWall, wall) WHERE id = ?
            """, .integer(Int64(other.payload.bytes.count)), .integer(first?.boot), .integer(first?.monotonic),
            .integer(first?.wall), .integer(id))
    }

    mutating func setRoutes(_ routes: [String], _ id: Int64) throws(SQLiteError) {
        try run("DELETE FROM deadLetterRoutes WHERE letter = ?", .integer(id))
        try insertRoutes(routes, id)
    }

    private mutating func insertRoutes(_ routes: [String], _ id: Int64) throws(SQLiteError) {
        for (position, route) in routes.enumerated() {
            try run(
                "INSERT INTO deadLetterRoutes VALUES (?, ?, ?)", .integer(id), .integer(Int64(position)), .text(route))
        }
    }
}

extension DeadLetter {
    /// Its columns from the reason to the cause.
    fileprivate func columns(_ time: StoredTime) -> [SQLValue] {
        // How long after the dead letter's time its payload arrived, in nanoseconds.
        let payloadArrivedAfter = payload.arrivedAt.map { $0.nanoseconds.since(arrivedAt.nanoseconds) }
        return [
            .text(reason.rawValue), .integer(time.boot), .integer(time.monotonic), .integer(time.wall),
            .text(payload.transport?.name), .text(payload.transportMessageID),
            .integer(payload.isRedelivered ? 1 : 0), .integer(payloadArrivedAfter), .blob(payload.bytes),
            .text(payload.mqtt?.json), .integer(Int64(attempts)), .integer(Int64(rulesGeneration)), .text(cause),
        ]
    }
}
#endif
