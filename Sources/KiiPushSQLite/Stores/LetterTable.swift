#if SQLite
import KiiPush
import Synchronization

/// How many letters a dead-letter store has, and those that it has in memory, on their way to the file with the notes of
/// an inbox.
final class LetterTable: Sendable {
    private struct State {
        var count: Int
        var bytes: Int
        /// The number that was given last.
        var last: Int64
        var waiting: [Int64: DeadLetter] = [:]
    }

    private let capacity: Int
    private let mostBytes: Int
    private let state: Mutex<State>

    init(capacity: Int, mostBytes: Int, count: Int, bytes: Int, last: Int64) {
        self.capacity = max(capacity, 0)
        self.mostBytes = mostBytes
        state = Mutex(State(count: count, bytes: bytes, last: last))
    }

    var count: Int { state.withLock { $0.count } }

    /// Gives a letter its number and makes room for it.
    ///
    /// - Parameters:
    ///   - letter: the letter.
    ///   - waits: whether it is kept here until it is written.
    /// - Returns: its number.
    /// - Throws: ``KiiPush/DeadLettersFull`` when it is beyond a bound.
    func add(_ letter: DeadLetter, waits: Bool) throws(DeadLettersFull) -> Int64 {
        let size = letter.payload.bytes.count
        let answer: Result<Int64, DeadLettersFull> = state.withLock { state in
            guard state.count < capacity, state.bytes + size <= mostBytes else {
                return .failure(DeadLettersFull(count: state.count, bytes: state.bytes))
            }
            state.count += 1
            state.bytes += size
            state.last += 1
            if waits { state.waiting[state.last] = letter }
            return .success(state.last)
        }
        return try answer.get()
    }

    /// Takes down that a letter of the file is gone, or could not be written.
    func forget(size: Int) {
        state.withLock { state in
            state.count -= 1
            state.bytes -= size
        }
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
            state.count -= 1
            state.bytes -= letter.payload.bytes.count
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
