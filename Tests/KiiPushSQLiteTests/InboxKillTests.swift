#if SQLite
import Foundation
import KiiPush
import KiiPushDelivery
import KiiPushSystem
import Testing

@testable import KiiPushSQLite

/// What is in an inbox when the process that uses it is killed at any moment.
struct InboxKillTests {
    @Test("what was added and not ended when a process is killed is there, and what had ended is gone")
    func kills() async throws {
        let folder = StateFolder()
        let kills = ProcessInfo.processInfo.environment["KIIPUSH_LONG"] == nil ? 200 : 2000
        await withTaskGroup(of: Void.self) { group in
            // Each lane has a file of its own. This process opens none: one that starts would share its lock.
            for lane in 0..<2 {
                group.addTask {
                    for run in 1...(kills / 2) {
                        // Half of them while the file is opened and read, or later; half while it is written.
                        let delay = Int.random(in: 0...(run % 2 == 0 ? 40_000 : 15_000))
                        await #expect(processExitsWith: .signal(SIGKILL), "run \(run), killed after \(delay) µs") {
                            [directory = "\(folder.path)/\(lane)" as String, run = run as Int, delay = delay as Int] in
                            try await InboxVictim(directory: directory, run: run).work(microseconds: delay)
                        }
                    }
                }
            }
        }
        var ended = 0
        for lane in 0..<2 {
            let victim = InboxVictim(directory: "\(folder.path)/\(lane)", run: kills)
            ended += try victim.readLog()?.lastID ?? 0
            #expect(try victim.open().problems == [])
        }
        // Not all were killed before they had done anything.
        #expect(ended > kills)
    }
}

/// A process that adds and notes until it is killed, and writes down what it was told is done.
private struct InboxVictim {
    let directory: String
    let run: Int

    private func log(_ run: Int) -> String { "\(directory).log\(run)" }

    /// Checks what the process before left, and works until a thread of its own kills the process.
    func work(microseconds: Int) async throws {
        let killer = Thread {
            usleep(UInt32(microseconds))
            kill(getpid(), SIGKILL)
        }
        if run % 2 == 0 { killer.start() }
        let (inbox, seen, entries, problems) = try open()
        for problem in problems { Issue.record("\(problem)") }
        if !problems.isEmpty { exit(3) }
        let log = try begin(entries, last: readLog()?.lastID ?? 0)
        if run % 2 != 0 { killer.start() }
        let (stream, queue) = AsyncStream.makeStream(of: UInt64.self)
        for entry in entries { queue.yield(entry.id) }
        let adder = Thread {
            while true {
                // So that the file stays small.
                while inbox.count > 300 { usleep(500) }
                let payloads = (0..<Int.random(in: 1...20)).map { _ in RawPayload([UInt8](repeating: 1, count: 700)) }
                guard let ids = try? inbox.add(payloads) else { exit(4) }
                for id in ids {
                    log.line("added", id)
                    queue.yield(id)
                }
            }
        }
        adder.start()
        try await withThrowingTaskGroup(of: Void.self) { group in
            var running = 0
            for await id in stream {
                if running == 32 { _ = try await group.next() }
                running += 1
                group.addTask { try await handle(id, inbox, seen, log) }
            }
        }
    }

    private func handle(
        _ id: UInt64, _ inbox: SQLiteInbox, _ seen: SQLiteSeenStore, _ log: InboxLog
    ) async throws {
        log.line("beginning", id)
        try await inbox.record(.begun(id, attempt: 1))
        log.line("begun", id)
        if id % 5 == 0 {
            log.line("failing", id)
            try await inbox.record(.failed(id, handled: ["a", "b"]))
            log.line("failed", id)
        }
        // Some are left lying, for the next process.
        if id % 7 == 0 && !Bool.random() { return }
        let now = SystemClock().now
        log.line("committing", id)
        if case .fresh(let lease) = seen.begin(.numbered(Int(id)), now: now) { try seen.commit(lease, now: now) }
        try await inbox.record(.ended(id))
        log.line("ended", id)
    }

    // MARK: What is left

    /// What a process finds, and what is wrong with it.
    func open() throws -> (inbox: SQLiteInbox, seen: SQLiteSeenStore, entries: [InboxEntry], problems: [String]) {
        let inbox = try SQLiteInbox(try SQLiteDatabase(directory: directory))
        let seen = try SQLiteSeenStore(writtenBy: inbox)
        let entries = try inbox.entries()
        guard let log = try readLog() else { return (inbox, seen, entries, []) }
        var problems: [String] = []
        var found: [UInt64: InboxEntry] = [:]
        for entry in entries {
            found[entry.id] = entry
            if entry.payload.bytes != [UInt8](repeating: 1, count: 700) { problems.append("\(entry.id) is damaged") }
            let word = log.words[entry.id]
            // Of an add that did not return, nobody was told a number; the log lacks at most the last batch.
            if word == nil, entry.id <= log.lastID { problems.append("\(entry.id) was gone and is there again") }
            if word == "ended" { problems.append("\(entry.id) has ended and is there") }
            if !log.isRight(entry) { problems.append("\(entry.id) \(word ?? "") has \(entry.crashes) crashes") }
        }
        let now = SystemClock().now
        for (id, word) in log.words {
            if found[id] == nil, word != "committing", word != "ended" { problems.append("\(id) \(word) is lost") }
            let isDone = seen.isDone(.numbered(Int(id)), at: now)
            if found[id] == nil, !isDone { problems.append("\(id) \(word) is neither there nor done") }
            if isDone, word != "committing", word != "ended", !log.committed.contains(id) {
                problems.append("\(id) \(word) is done")
            }
        }
        return (inbox, seen, entries, problems)
    }

    /// Begins a log with what is there; one that is not whole counts for nothing, as nothing was done before.
    private func begin(_ entries: [InboxEntry], last: Int) throws -> InboxLog {
        let before = try readLog()
        let log = InboxLog(path: log(run))
        log.line("last", UInt64(last))
        for entry in entries {
            log.line("crashes\(entry.crashes)", entry.id)
            let wasCommitting = before?.words[entry.id] == "committing" || before?.committed.contains(entry.id) == true
            if wasCommitting { log.line("perhapsDone", entry.id) }
        }
        log.line("whole", 0)
        return log
    }

    /// The last log that is whole.
    func readLog() throws -> InboxWitness? {
        for run in stride(from: run, to: 0, by: -1) {
            // Not by Foundation, which loses 4 KiB for each empty file.
            guard let bytes = try? ByteReader(path: log(run)).readAll(limit: 1 << 24) else { continue }
            let text = String(decoding: bytes, as: UTF8.self)
            if let witness = InboxWitness(text) { return witness }
        }
        return nil
    }
}

/// A file of lines that a kill takes nothing of: what was written is the kernel's.
private struct InboxLog: Sendable {
    private let file: Int32

    init(path: String) { file = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0o600) }

    func line(_ word: String, _ id: UInt64) {
        let line = "\(word) \(id)\n"
        _ = unsafe write(file, line, line.utf8.count)
    }
}

/// What the log of a killed process says.
private struct InboxWitness {
    /// The last word on each payload.
    var words: [UInt64: String] = [:]
    /// How many crashes each had when that process began.
    var crashes: [UInt64: Int] = [:]
    /// Those whose message may have been committed by an earlier process.
    var committed: Set<UInt64> = []
    /// The largest number that was told.
    var lastID = 0

    /// Reads a log; nil when it does not say that it began well.
    init?(_ text: String) {
        guard text.contains("\nwhole 0\n") else { return nil }
        for line in text.split(separator: "\n") {
            let parts = line.split(separator: " ")
            guard parts.count == 2, let id = UInt64(parts[1]) else { continue }
            if id > 0 { lastID = max(lastID, Int(id)) }
            switch parts[0] {
            case "last", "whole": break
            case "perhapsDone": committed.insert(id)
            case let word where word.hasPrefix("crashes"):
                crashes[id] = Int(word.dropFirst(7)) ?? 0
                words[id] = "found"
            case let word: words[id] = String(word)
            }
        }
    }

    /// Whether a payload has as many crashes as it should, and its routes.
    func isRight(_ entry: InboxEntry) -> Bool {
        let before = crashes[entry.id] ?? 0
        let routes = entry.id % 5 == 0 ? ["a", "b"] : []
        switch words[entry.id] {
        case nil, "added", "found": return entry.crashes == before
        case "begun": return entry.crashes == before + 1 && entry.attempts == 1
        case "failed": return entry.crashes == before && entry.handled == routes
        // Being written when the process was killed: it was in flight, or not.
        default: return entry.crashes == before || entry.crashes == before + 1
        }
    }
}
#endif
