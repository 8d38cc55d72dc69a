#if SQLite
import KiiPush
import KiiPushDelivery

/// The payloads that an inbox has in its file, with their sizes; read and changed under the database's lock.
struct InboxRows: Sendable {
    private var sizes: [Int64: Int] = [:]
    /// The sizes of the answers that were not delivered, by the number of their payload.
    private var answers: [Int64: Int] = [:]
    /// The size of all payloads and answers, in bytes.
    private(set) var bytes = 0
    /// The highest number in the file when it was read, or since.
    private(set) var last: Int64 = 0

    init(_ connection: inout Connection) throws(SQLiteError) {
        var found = InboxChanges()
        try connection.each("SELECT id, \(Connection.sizeOfPayload) FROM inbox ORDER BY id") { row in
            found.added.append((row.integer(0), Int(row.integer(1))))
        }
        try connection.each("SELECT payload, \(Connection.sizeOfAnswer) FROM answers") { row in
            found.answered.append((row.integer(0), Int(row.integer(1))))
        }
        apply(found)
        last = try connection.lastNumber(of: "inbox")
        // Numbers that no service can have been given.
        let isOurs =
            (found.added.first?.id ?? 1) > 0 && (found.added.last?.id ?? 0) <= last
            && found.answered.allSatisfy { $0.id > 0 }
        guard isOurs else { throw .corrupt(path: connection.path) }
    }

    var count: Int { sizes.count + answers.count }

    func contains(_ id: Int64) -> Bool { sizes[id] != nil }

    var hasAnswers: Bool { !answers.isEmpty }

    func hasAnswer(_ id: Int64) -> Bool { answers[id] != nil }

    /// Applies the changes of a committed transaction.
    mutating func apply(_ changes: InboxChanges) {
        for (id, size) in changes.added { sizes[id] = size }
        for (id, size) in changes.answered { answers[id] = size }
        bytes += changes.added.reduce(0) { $0 + $1.size } + changes.answered.reduce(0) { $0 + $1.size }
        for id in changes.gone { bytes -= sizes.removeValue(forKey: id) ?? 0 }
        for id in changes.delivered { bytes -= answers.removeValue(forKey: id) ?? 0 }
    }
}

/// What a transaction has changed: the payloads that it has added, with their sizes, and removed; likewise answers.
struct InboxChanges: Sendable {
    var added: [(id: Int64, size: Int)] = []
    var gone: Set<Int64> = []
    var answered: [(id: Int64, size: Int)] = []
    var delivered: Set<Int64> = []
    /// The payloads whose dead letters it has written.
    var lettersOf: Set<Int64> = []
}

// MARK: - Statements

extension Connection {
    /// The bytes that a row of the inbox or of the dead letters keeps of its payload.
    static let sizeOfPayload = "length(payload) + coalesce(length(CAST(mqtt AS BLOB)), 0)"

    /// The bytes that a row of the answers keeps.
    static let sizeOfAnswer =
        "length(command) + length(CAST(answer AS BLOB)) + coalesce(length(CAST(mqtt AS BLOB)), 0)"

    /// Inserts a payload, and returns its number.
    mutating func insert(_ payload: RawPayload, _ time: StoredTime) throws(SQLiteError) -> Int64 {
        try run(
            "INSERT INTO inbox VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?)", .integer(time.boot), .integer(time.monotonic),
            .integer(time.wall), .text(payload.transport?.name), .text(payload.transportMessageID),
            .integer(payload.isRedelivered ? 1 : 0), .blob(payload.bytes), .text(payload.mqtt?.json))
        return lastRow
    }

    /// Records the progress of the payload of a number, which must exist.
    mutating func write(_ record: InboxRecord, _ id: Int64) throws(SQLiteError) {
        switch record {
        case .begun(_, let attempt):
            try run(
                """
                INSERT INTO inboxProgress VALUES (?, ?, 1, 0, 0)
                    ON CONFLICT (payload) DO UPDATE SET attempts = excluded.attempts, isInFlight = 1
                """, .integer(id), .integer(Int64(attempt)))
        case .failed(_, let handled, let answers):
            try run("UPDATE inboxProgress SET isInFlight = 0 WHERE payload = ?", .integer(id))
            try run("DELETE FROM inboxHandled WHERE payload = ?", .integer(id))
            for (position, route) in handled.enumerated() {
                let answer = position < answers.count ? answers[position] : nil
                try run(
                    "INSERT INTO inboxHandled VALUES (?, ?, ?, ?)", .integer(id), .integer(Int64(position)),
                    .text(route), .text(answer?.jsonText))
            }
        case .answer(let answer):
            let payload = answer.payload
            try run(
                "INSERT INTO answers VALUES (?, ?, ?, ?, ?, ?)", .integer(id), .text(answer.sender),
                .text(payload.transport?.name), .blob(payload.bytes), .text(payload.mqtt?.json),
                .text(answer.answer.jsonText)
            )
        case .ended: try run("DELETE FROM inbox WHERE id = ?", .integer(id))
        case .answered: try run("DELETE FROM answers WHERE payload = ?", .integer(id))
        }
    }

    /// The first answers for a sender whose payloads have ended.
    mutating func answers(of sender: String, limit: Int) throws(SQLiteError) -> [UnsentAnswer] {
        var answers: [UnsentAnswer] = []
        try each(
            """
            SELECT payload, transport, command, mqtt, answer FROM answers
                WHERE sender = ? AND payload NOT IN (SELECT id FROM inbox) ORDER BY payload LIMIT ?
            """, [.text(sender), .integer(Int64(limit))]
        ) { row in
            var payload = RawPayload(row.blob(2), transport: row.text(1).map { Transport($0) })
            payload.mqtt = row.text(3).flatMap { MQTTPublish(json: $0) }
            // Only a changed file has an answer that cannot be read.
            let answer = row.text(4).flatMap { Answer(json: $0) } ?? .failed("its answer was damaged")
            answers.append(UnsentAnswer(id: UInt64(row.integer(0)), sender: sender, payload: payload, answer: answer))
        }
        return answers
    }

    /// Counts a crash for each payload that was in flight, which is suspect until an attempt has failed: 2 instead of
    /// 1; marks one that was in flight alone.
    mutating func countCrashes() throws(SQLiteError) {
        let inFlight = try number("SELECT count(*) FROM inboxProgress WHERE isInFlight = 1") ?? 0
        try run(
            "UPDATE inboxProgress SET crashes = crashes + 1, crashedAlone = ?, isInFlight = 2 WHERE isInFlight = 1",
            .integer(inFlight == 1 ? 1 : 0))
    }

    /// The first payloads after a number that have not ended, oldest first.
    mutating func entries(after id: Int64, limit: Int, _ scale: TimeScale) throws(SQLiteError) -> [InboxEntry] {
        try entries("id > ? ORDER BY id LIMIT ?", [.integer(id), .integer(Int64(limit))], scale)
    }

    /// The payload of a number; nil when there is none.
    mutating func entry(_ id: Int64, _ scale: TimeScale) throws(SQLiteError) -> InboxEntry? {
        try entries("id = ?", [.integer(id)], scale).first
    }

    private mutating func entries(
        _ condition: String, _ values: [SQLValue], _ scale: TimeScale
    ) throws(SQLiteError) -> [InboxEntry] {
        var handled: [Int64: [(route: String, answer: Answer?)]] = [:]
        try each(
            """
            SELECT payload, route, answer FROM inboxHandled
                WHERE payload IN (SELECT id FROM inbox WHERE \(condition)) ORDER BY payload, position
            """, values
        ) { row in
            handled[row.integer(0), default: []].append((row.text(1) ?? "", row.text(2).flatMap { Answer(json: $0) }))
        }
        var entries: [InboxEntry] = []
        try each(
            """
            SELECT id, boot, monotonic, wall, transport, transportMessageID, isRedelivered, inbox.payload,
                attempts, crashes, crashedAlone, mqtt, isInFlight
                FROM inbox LEFT JOIN inboxProgress ON inboxProgress.payload = id WHERE \(condition)
            """, values
        ) { row in entries.append(InboxEntry(row, scale, handled[row.integer(0)] ?? [])) }
        return entries
    }
}

extension InboxEntry {
    /// Reads a row of the statement above, of a payload that these routes have handled.
    fileprivate init(_ row: borrowing SQLRow, _ scale: TimeScale, _ handled: [(route: String, answer: Answer?)]) {
        var payload = RawPayload(
            row.blob(7), transport: row.text(4).map { Transport($0) }, transportMessageID: row.text(5),
            isRedelivered: row.integer(6) != 0, arrivedAt: scale.instant(row.time(1)))
        payload.mqtt = row.text(11).flatMap { MQTTPublish(json: $0) }
        self.init(
            id: UInt64(bitPattern: row.integer(0)), payload: payload, attempts: Int(row.integer(8)),
            handled: handled.map(\.route), answers: handled.map(\.answer), crashes: Int(row.integer(9)),
            crashedAlone: row.integer(10) != 0)
        isSuspect = row.integer(12) == 2
    }
}
#endif
