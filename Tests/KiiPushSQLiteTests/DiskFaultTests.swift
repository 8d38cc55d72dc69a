#if SQLite
import Foundation
import KiiPush
import KiiPushDelivery
import KiiPushTesting
import Testing

@testable import KiiPushSQLite

/// What an inbox keeps when the n-th call on the disk fails, for every n; and which writes the disk must confirm.
struct DiskFaultTests {
    private let folder = StateFolder()

    @Test(
        "whichever call fails, nothing is lost that was said to be kept",
        arguments: [(false, false), (false, true), (true, false), (true, true)])
    func everyCall(isFull: Bool, lasts: Bool) async throws {
        // In memory where that can be had: how long a disk takes does not matter here.
        let folder = StateFolder(parent: "/dev/shm")
        await #expect(processExitsWith: .exitCode(0)) {
            [path = folder.path as String, isFull = isFull as Bool, lasts = lasts as Bool] in
            FaultyDisk.install()
            var failures = 0
            for call in 1... {
                let fault = FaultyDisk.Fault(call: call, lasts: lasts, isFull: isFull)
                let directory = "\(path)/\(isFull)-\(lasts)-\(call)"
                var run = FaultyRun(directory)
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
            // Some calls may fail unnoticed, such as those that only tidy up.
            if failures < 50 { exit(9) }
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

/// Some payloads that are added, handled and ended, on a disk that fails; and what was said to be kept of them.
private struct FaultyRun {
    private let directory: String
    private var inbox: SQLiteInbox?
    private var seen: SQLiteSeenStore?
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

    init(_ directory: String) { self.directory = directory }

    /// Does everything; what throws is done once more if `again`.
    mutating func work(again: Bool) async {
        await attempt(again) { run in
            let inbox = try SQLiteInbox(try SQLiteDatabase(directory: run.directory))
            run.seen = try SQLiteSeenStore(writtenBy: inbox)
            run.inbox = inbox
        }
        guard let inbox, let seen else { return }
        for batch in 0..<3 {
            await attempt(again) { run in
                let bytes = (0..<3).map { UInt8(batch * 3 + $0) }
                let count = inbox.count
                do {
                    let ids = try inbox.add(bytes.map { RawPayload([UInt8](repeating: $0, count: 3000)) })
                    for (id, byte) in zip(ids, bytes) { run.known[id] = Known(byte: byte) }
                } catch {
                    if inbox.count != count { run.surprises.append("an add that threw has changed the count") }
                    throw error
                }
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
                    await attempt(again) { run in
                        try seen.commit(lease, now: now)
                        run.known[id]?.isCommitted = true
                    }
                }
                await attempt(again) { run in
                    run.known[id]?.mayBeEnded = true
                    try await inbox.record(.ended(id))
                    run.known[id]?.isEnded = true
                }
            }
        }
    }

    private func record(_ inbox: SQLiteInbox, _ record: InboxRecord) async throws { try await inbox.record(record) }

    private mutating func attempt(_ again: Bool, _ step: (inout FaultyRun) async throws -> Void) async {
        do { try await step(&self) } catch {
            failures += 1
            guard again else { return }
            do { try await step(&self) } catch { surprises.append("once more it throws \(error)") }
        }
    }

    /// What is wrong when a later process opens the file on a disk that works.
    mutating func problems(mayFail: Bool) throws -> [String] {
        var problems = mayFail ? [] : surprises
        // As a crash would leave it, but for what closing does to the file.
        inbox?.database.close()
        (inbox, seen) = (nil, nil)
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
        database.close()
        return problems
    }
}
#endif
