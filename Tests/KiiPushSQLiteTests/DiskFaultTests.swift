#if SQLite
import Foundation
import KiiPush
import KiiPushDelivery
import KiiPushTesting
import Testing

@testable import KiiPushSQLite

/// What the stores keep when the n-th call on the disk fails, for every n; and which writes the disk must confirm.
struct DiskFaultTests {
    private let folder = StateFolder()

    @Test(
        "whichever call fails, a step fails whole, and nothing is lost that was said to be kept",
        arguments: [(false, false), (false, true), (true, false), (true, true)], [false, true])
    func everyCall(_ fault: (isFull: Bool, lasts: Bool), areAlone: Bool) async throws {
        let (isFull, lasts) = fault
        // In memory where that can be had: how long a disk takes does not matter here.
        let folder = StateFolder(parent: "/dev/shm")
        await #expect(processExitsWith: .exitCode(0)) {
            [
                path = folder.path as String, isFull = isFull as Bool, lasts = lasts as Bool,
                areAlone = areAlone as Bool
            ] in
            FaultyDisk.install()
            var failures = 0
            for call in 1... {
                let fault = FaultyDisk.Fault(call: call, lasts: lasts, isFull: isFull)
                let directory = "\(path)/\(isFull)-\(lasts)-\(call)"
                var run = FaultyRun(directory, areAlone: areAlone)
                FaultyDisk.plan(fault)
                await run.work(again: !lasts)
                let calls = FaultyDisk.calls
                FaultyDisk.plan(nil)
                failures += run.failures
                for problem in try run.problems(mayFail: lasts) { Issue.record("\(fault): \(problem)") }
                try FileManager.default.removeItem(atPath: directory)
                if calls < call { break }
                if call > 5000 { exit(8) }
            }
            // Some calls may fail unnoticed, such as those that only tidy up; and one that finds the disk full is made
            // again.
            if failures < 50, !isFull || lasts { exit(9) }
        }
    }

    @Test("every write waits for the disk but the beginnings of attempts, unless their payloads came back")
    func beginnings() async throws {
        await #expect(processExitsWith: .exitCode(0)) { [directory = folder.next() as String] in
            FaultyDisk.install()
            var inbox = try SQLiteInbox(try SQLiteDatabase(directory: directory))
            func syncs(_ records: InboxRecord...) async throws -> Int {
                try await FaultyDisk.syncs { try await inbox.record(records) }
            }
            #expect(try await FaultyDisk.syncs { _ = try inbox.add((1...4).map { RawPayload([$0]) }) } == 1)
            #expect(try await syncs(.begun(1, attempt: 1)) == 0)
            #expect(try await syncs(.begun(2, attempt: 1), .begun(3, attempt: 1)) == 0)
            #expect(try await syncs(.failed(1, handled: [])) == 1)
            #expect(try await syncs(.begun(1, attempt: 2)) == 0)
            #expect(try await syncs(.ended(1), .begun(4, attempt: 1)) == 1)
            // Of 2, 3 and 4 one may have ended the machine.
            inbox.database.close()
            inbox = try SQLiteInbox(try SQLiteDatabase(directory: directory))
            #expect(try inbox.entries().map(\.crashes) == [1, 1, 1])
            #expect(try await syncs(.begun(2, attempt: 2)) == 1)
            var numbers: [UInt64] = []
            #expect(try await FaultyDisk.syncs { numbers = try inbox.add([RawPayload([5])]) } == 1)
            #expect(numbers == [5])
            #expect(try await syncs(.begun(5, attempt: 1), .begun(3, attempt: 2)) == 1)
            #expect(try await syncs(.ended(5)) == 1)
        }
    }

    @Test("a commit of the deduplication store waits for the disk, also beside a beginning")
    func commits() async throws {
        await #expect(processExitsWith: .exitCode(0)) { [directory = folder.next() as String] in
            FaultyDisk.install()
            let inbox = try SQLiteInbox(try SQLiteDatabase(directory: directory))
            let seen = try SQLiteSeenStore(writtenBy: inbox)
            _ = try inbox.add([RawPayload([1]), RawPayload([2])])
            try await inbox.record(.begun(1, attempt: 1))
            try seen.handle(.numbered(1), at: .seconds(0))
            #expect(try await FaultyDisk.syncs { try await inbox.record(.begun(2, attempt: 1)) } == 1)
        }
    }
}

/// Some payloads that are added, handled and ended or dead-lettered, on a disk that fails; and what was said to be kept
/// of them.
private struct FaultyRun {
    private let directory: String
    /// Whether the other stores write by themselves, and not by the inbox.
    private let areAlone: Bool
    private var inbox: SQLiteInbox?
    private var seen: SQLiteSeenStore?
    private var letters: SQLiteDeadLetterStore?
    /// How often a call threw.
    private(set) var failures = 0
    /// What calls threw although the disk worked again.
    private var surprises: [String] = []

    /// What is known of a payload by its number.
    private struct Known {
        let byte: UInt8
        var attempts = 0
        var isEnded = false
        /// Whether a note of its end may have been written though it threw.
        var mayBeEnded = false
        var isCommitted = false
    }

    private var known: [UInt64: Known] = [:]
    /// The letters that were kept, and the one of them that was to be removed.
    private var kept: Set<UInt64> = []
    private var unwanted: UInt64?

    init(_ directory: String, areAlone: Bool) { (self.directory, self.areAlone) = (directory, areAlone) }

    /// Does everything; what throws is done once more if `again`.
    mutating func work(again: Bool) async {
        await attempt(again) { run in
            let database = try SQLiteDatabase(directory: run.directory)
            let inbox = try SQLiteInbox(database)
            let seen = try run.areAlone ? SQLiteSeenStore(database) : SQLiteSeenStore(writtenBy: inbox)
            let letters = try run.areAlone ? SQLiteDeadLetterStore(database) : SQLiteDeadLetterStore(writtenBy: inbox)
            (run.inbox, run.seen, run.letters) = (inbox, seen, letters)
        }
        guard let inbox, let seen, let letters else { return }
        for batch in 0..<3 {
            await attempt(again, keeping: { inbox.count }) { run in
                let bytes = (0..<3).map { UInt8(batch * 3 + $0) }
                let ids = try inbox.add(bytes.map { RawPayload([UInt8](repeating: $0, count: 3000)) })
                for (id, byte) in zip(ids, bytes) { run.known[id] = Known(byte: byte) }
            }
        }
        for id in known.keys.sorted() {
            await attempt(again) { run in
                try await inbox.record(.begun(id, attempt: 1))
                run.known[id]?.attempts = 1
            }
            if id % 3 == 0 {
                await attempt(again) { try await $0.record(inbox, .failed(id, handled: ["a"])) }
            } else if id % 3 == 1 {
                let now = SystemClock().now
                if case .fresh(let lease) = seen.begin(.numbered(Int(id)), now: now) {
                    await attempt(again, keeping: { seen.counts?.strong.remembered }) { run in
                        try seen.commit(lease, now: now)
                        run.known[id]?.isCommitted = true
                    }
                }
                await attempt(again, keeping: { inbox.count }) { run in
                    run.known[id]?.mayBeEnded = true
                    try await inbox.record(.ended(id))
                    run.known[id]?.isEnded = true
                }
            } else {
                let payload = RawPayload([UInt8](repeating: UInt8(id), count: 3000))
                await attempt(again, keeping: { letters.count }) { run in
                    run.kept.insert(
                        try letters.add(
                            DeadLetter(payload: payload, reason: .failed, routes: ["a"], arrivedAt: .seconds(0))))
                }
            }
        }
        unwanted = kept.min()
        guard let unwanted else { return }
        await attempt(again, keeping: { letters.count }) { run in
            _ = try letters.remove(unwanted)
            run.kept.remove(unwanted)
        }
    }

    private func record(_ inbox: SQLiteInbox, _ record: InboxRecord) async throws { try await inbox.record(record) }

    /// Does a step, and where it throws once more if `again`; one that throws must not change what `keeping` counts.
    private mutating func attempt(
        _ again: Bool, keeping count: () -> Int? = { nil }, _ step: (inout FaultyRun) async throws -> Void
    ) async {
        let before = count()
        do { try await step(&self) } catch {
            failures += 1
            if count() != before { surprises.append("a step that threw has changed something") }
            guard again else { return }
            do { try await step(&self) } catch { surprises.append("once more it throws \(error)") }
        }
    }

    /// What is wrong when a later process opens the file on a disk that works.
    mutating func problems(mayFail: Bool) throws -> [String] {
        var problems = mayFail ? [] : surprises
        // As a crash would leave it, but for what closing does to the file.
        inbox?.database.close()
        (inbox, seen, letters) = (nil, nil, nil)
        let database = try SQLiteDatabase(directory: directory)
        let text = try database.withConnection { connection throws(SQLiteError) in
            try connection.text("PRAGMA integrity_check")
        }
        if text != "ok" { problems.append("the file is damaged: \(text ?? "")") }
        let entries = try SQLiteInbox(database).entries()
        let seen = try SQLiteSeenStore(database)
        let now = SystemClock().now
        for (id, known) in known {
            let entry = entries.first { $0.id == id }
            if known.isEnded, entry != nil { problems.append("\(id) has ended and is there") }
            if !known.mayBeEnded, entry == nil { problems.append("\(id) is lost") }
            if let entry, entry.payload.bytes != [UInt8](repeating: known.byte, count: 3000) {
                problems.append("\(id) has other bytes")
            }
            if let entry, entry.attempts < known.attempts { problems.append("\(id) has forgotten its attempt") }
            if entry == nil, known.isCommitted, !seen.isDone(.numbered(Int(id)), at: now) {
                problems.append("\(id) is neither there nor done")
            }
        }
        let letters = try SQLiteDeadLetterStore(database).letters()
        let ids = Set(letters.map(\.id))
        for id in kept where id != unwanted && !ids.contains(id) { problems.append("letter \(id) is lost") }
        if let unwanted, !kept.contains(unwanted), ids.contains(unwanted) {
            problems.append("letter \(unwanted) was removed and is there")
        }
        if !letters.allSatisfy({ $0.payload.bytes.count == 3000 && $0.routes == ["a"] }) {
            problems.append("a letter is not whole")
        }
        database.close()
        return problems
    }
}
#endif
