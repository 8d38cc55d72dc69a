#if SQLite
import KiiPush
import Synchronization

/// What letters a dead-letter store has room for, and those that it has in memory, on their way to the file with the
/// notes of an inbox.
final class LetterTable: Sendable {
    private struct State {
        var room: LetterRoom
        /// The number that was given last.
        var last: Int64
        var waiting: [Int64: DeadLetter] = [:]
    }

    private let state: Mutex<State>

    init(_ room: LetterRoom, last: Int64) { state = Mutex(State(room: room, last: last)) }

    var count: Int { state.withLock { $0.room.count } }

    /// Gives a letter its number and makes room for it.
    ///
    /// - Parameters:
    ///   - letter: the letter.
    ///   - waits: whether it is kept here until it is written.
    /// - Returns: its number.
    /// - Throws: ``KiiPush/DeadLettersFull`` when it is beyond a bound.
    func add(_ letter: DeadLetter, waits: Bool) throws(DeadLettersFull) -> Int64 {
        let answer: Result<Int64, DeadLettersFull> = state.withLock { state in
            do throws(DeadLettersFull) {
                try state.room.take(letter.reason, bytes: letter.payload.bytes.count)
            } catch {
                return .failure(error)
            }
            state.last += 1
            if waits { state.waiting[state.last] = letter }
            return .success(state.last)
        }
        return try answer.get()
    }

    /// Takes down that a letter of the file is gone, or could not be written.
    func forget(_ reason: DeadLetter.Reason, size: Int) {
        state.withLock { $0.room.add(reason, count: -1, bytes: -size) }
    }

    // MARK: Those that wait

    /// The letters that are not in the file yet.
    var waiting: [DeadLetter] {
        state.withLock { state in
            state.waiting.map { number, letter in
                var letter = letter
                letter.id = UInt64(number)
                return letter
            }
        }
    }

    func isWaiting(_ number: Int64) -> Bool { state.withLock { $0.waiting[number] != nil } }

    /// Takes down that a letter has come into the file.
    func hasWritten(_ number: Int64) { state.withLock { _ = $0.waiting.removeValue(forKey: number) } }

    /// Forgets a letter that waits; whether there was one of that number.
    @discardableResult
    func remove(_ number: Int64) -> Bool {
        state.withLock { state in
            guard let letter = state.waiting.removeValue(forKey: number) else { return false }
            state.room.add(letter.reason, count: -1, bytes: -letter.payload.bytes.count)
            return true
        }
    }
}

/// A letter that waits for a note of its payload, to be written with that.
struct QueuedLetter: Sendable {
    let table: LetterTable
    let number: Int64
    let letter: DeadLetter
    let time: StoredTime
}

extension Connection {
    /// Writes a letter down that has waited.
    mutating func insert(_ queued: QueuedLetter) throws(SQLiteError) {
        try insert(queued.letter, queued.number, queued.time)
    }

    /// Writes a letter down under a number that no letter had.
    mutating func insert(_ letter: DeadLetter, _ id: Int64, _ time: StoredTime) throws(SQLiteError) {
        let payload = letter.payload
        let after = payload.arrivedAt.map { $0.nanoseconds.since(letter.arrivedAt.nanoseconds) }
        try run(
            "INSERT INTO deadLetters VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", .integer(id),
            .text(letter.reason.rawValue), .integer(time.boot), .integer(time.monotonic), .integer(time.wall),
            .text(payload.transport?.name), .text(payload.transportMessageID),
            .integer(payload.isRedelivered ? 1 : 0), .integer(after), .blob(payload.bytes),
            .integer(Int64(letter.attempts)), .integer(Int64(letter.rulesGeneration)), .text(letter.cause))
        for (position, route) in letter.routes.enumerated() {
            try run(
                "INSERT INTO deadLetterRoutes VALUES (?, ?, ?)", .integer(id), .integer(Int64(position)), .text(route))
        }
    }
}
#endif
