#if SQLite
import Foundation
import KiiPush
import KiiPushSystem
import Testing

@testable import KiiPushSQLite

/// What is left when a process that handles messages is killed at any moment.
@Suite(.serialized)
struct KillTests {
    @Test("what was committed when a process is killed is neither forgotten nor damaged")
    func kills() async throws {
        let folder = StateFolder()
        let directory = folder.next()
        let kills = ProcessInfo.processInfo.environment["KIIPUSH_LONG"] == nil ? 30 : 500
        for run in 1...kills {
            let delay = Int.random(in: 0...60_000)
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [
                    directory = directory as String, log = "\(folder.path)/log" as String, run = run as Int,
                    delay = delay as Int
                ] in
                try Victim(directory: directory, log: log, run: run).work(microseconds: delay)
            }
            try Self.check(directory, try Witness(log: "\(folder.path)/log"), run, delay)
        }
        let witness = try Witness(log: "\(folder.path)/log")
        #expect(witness.committed.count > kills && witness.released.count > 0 && witness.added.count > 0)
        #expect(!witness.removed.isEmpty)
    }

    private static func check(_ directory: String, _ witness: Witness, _ run: Int, _ delay: Int) throws {
        let database = try SQLiteDatabase(directory: directory)
        let seen = try SQLiteSeenStore(database, window: Victim.window)
        let now = SystemClock().now
        let forgotten = witness.committed.filter { !seen.isDone(.numbered($0), at: now) }
        #expect(forgotten.isEmpty, "run \(run), killed after \(delay) µs")
        let remembered = witness.released.filter { seen.isDone(.numbered($0), at: now) }
        #expect(remembered.isEmpty, "run \(run), killed after \(delay) µs")
        #expect(seen.counts?.inFlight == 0)
        let letters = try SQLiteDeadLetterStore(database, capacity: .max, bytes: .max).letters()
        let ids = Set(letters.map(\.id))
        #expect(witness.added.subtracting(witness.leaving).isSubset(of: ids), "run \(run), killed after \(delay) µs")
        #expect(ids.isDisjoint(with: witness.removed), "run \(run), killed after \(delay) µs")
        #expect(letters.allSatisfy { $0.payload.bytes == Victim.payload && $0.routes == ["a", "b"] })
    }
}

/// A process that handles messages until it is killed, and writes down what it was told is done.
private struct Victim {
    static let window = SeenWindow(age: .seconds(3600), count: 1_000_000)
    static let payload = [UInt8](repeating: 0x7B, count: 5000)

    let directory: String
    let log: String
    let run: Int

    /// Works until a thread of its own kills the process, while others are anywhere in their work.
    func work(microseconds: Int) throws {
        let thread = Thread {
            usleep(UInt32(microseconds))
            kill(getpid(), SIGKILL)
        }
        thread.start()
        let file = unsafe open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        // What was written is the kernel's, so that a kill takes nothing of it.
        let note: @Sendable (String, UInt64) -> Void = { what, number in
            let line = "\(what) \(number)\n"
            _ = unsafe write(file, line, line.utf8.count)
        }
        // Closed now and then, so that kills hit opening and closing too.
        for round in 0... {
            let database = try SQLiteDatabase(directory: directory)
            let seen = try SQLiteSeenStore(database, window: Self.window)
            let letters = try SQLiteDeadLetterStore(database, capacity: .max, bytes: .max)
            DispatchQueue.concurrentPerform(iterations: 3) { worker in
                for message in 0..<40 {
                    handle(((run * 1000 + round) * 3 + worker) * 40 + message, seen, letters, note)
                }
            }
        }
    }

    private func handle(
        _ number: Int, _ seen: SQLiteSeenStore, _ letters: SQLiteDeadLetterStore, _ note: (String, UInt64) -> Void
    ) {
        let now = SystemClock().now
        guard case .fresh(let lease) = seen.begin(.numbered(number), now: now) else { fatalError("not fresh") }
        do {
            if number % 7 == 0 {
                seen.release(lease)
                note("released", UInt64(number))
            } else {
                try seen.commit(lease, now: now)
                note("committed", UInt64(number))
            }
            guard number % 5 == 0 else { return }
            let letter = DeadLetter(
                payload: RawPayload(Self.payload), reason: .failed, routes: ["a", "b"], arrivedAt: now)
            let id = try letters.add(letter)
            note("added", id)
            guard number % 2 == 0 else { return }
            note("leaving", id)
            _ = try letters.remove(id)
            note("removed", id)
        } catch {
            fatalError("\(error)")
        }
    }
}

/// What the killed processes were told is done.
private struct Witness {
    var committed: Set<Int> = []
    var released: Set<Int> = []
    var added: Set<UInt64> = []
    /// Being removed; what became of it, nobody knows.
    var leaving: Set<UInt64> = []
    var removed: Set<UInt64> = []

    init(log: String) throws {
        guard FileManager.default.fileExists(atPath: log) else { return }
        // Not by Foundation, which loses 4 KiB for each empty file.
        let text = String(decoding: try ByteReader(path: log).readAll(limit: 1 << 24), as: UTF8.self)
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ")
            let number = try #require(UInt64(words[1]))
            switch words[0] {
            case "committed": committed.insert(Int(number))
            case "released": released.insert(Int(number))
            case "added": added.insert(number)
            case "leaving": leaving.insert(number)
            case "removed": removed.insert(number)
            case let other: Issue.record("no such word: \(other)")
            }
        }
    }
}
#endif
