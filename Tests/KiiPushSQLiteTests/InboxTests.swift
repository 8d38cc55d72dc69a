#if SQLite
import Foundation
import KiiPush
import KiiPushDelivery
import KiiPushSystem
import KiiPushTesting
import Synchronization
import Testing

@testable import KiiPushSQLite

/// What an inbox on SQLite does beyond the promises of every inbox.
@Suite(.timeLimit(.minutes(5)))
struct InboxTests {
    private let machine = Machine()
    private let folder = StateFolder()
    private var directory: String { folder.directory }

    private func open(
        capacity: Int = 100, bytes: Int = 1000, clock: ManualClock = ManualClock()
    ) throws -> SQLiteInbox {
        try SQLiteInbox(try machine.open(directory), capacity: capacity, bytes: bytes, clock: clock)
    }

    private func payloads(_ sizes: Int...) -> [RawPayload] {
        sizes.map { RawPayload([UInt8](repeating: 7, count: $0)) }
    }

    @Test("beyond a bound it refuses payloads, all of a call, and has room again when others have ended")
    func bounds() async throws {
        var inbox = try open(capacity: 3)
        #expect(try inbox.add(payloads(400, 500)) == [1, 2])
        #expect(throws: InboxFull(count: 2, bytes: 900)) { try inbox.add(payloads(1, 1)) }
        #expect(throws: InboxFull(count: 2, bytes: 900)) { try inbox.add(payloads(101)) }
        #expect(try inbox.add(payloads(100)) == [3])
        inbox.database.close()
        // What is there counts for the next process too.
        inbox = try open(capacity: 3)
        #expect(inbox.count == 3 && inbox.bytes == 1000)
        #expect(throws: InboxFull(count: 3, bytes: 1000)) { try inbox.add(payloads(0)) }
        try await inbox.record(.ended(2))
        #expect(inbox.count == 2 && inbox.bytes == 500)
        #expect(try inbox.add(payloads(500)) == [4])
        inbox.database.close()
        inbox = try open(capacity: 1)
        #expect(throws: InboxFull(count: 3, bytes: 1000)) { try inbox.add(payloads(0)) }
        #expect(try inbox.entries().map(\.id) == [1, 3, 4])
        #expect("\(InboxFull(count: 3, bytes: 1000))".contains("3 payloads of 1000 bytes"))
    }

    @Test("a payload's arrival is on the clock of the process that reads it, its adding where it had none")
    func times() throws {
        var payload = RawPayload([1])
        payload.arrivedAt = .seconds(5)
        let inbox = try open(clock: ManualClock(start: .seconds(7)))
        _ = try inbox.add([payload, RawPayload([2])])
        inbox.database.close()
        machine.pass(30)
        func arrivals() throws -> [MonotonicInstant?] {
            let inbox = try open(clock: ManualClock(start: .seconds(100)))
            defer { inbox.database.close() }
            return try inbox.entries().map(\.payload.arrivedAt)
        }
        #expect(try arrivals() == [.seconds(100 - 32), .seconds(100 - 30)])
        machine.boot("second")
        machine.pass(8)
        #expect(try arrivals() == [.seconds(100 - 40), .seconds(100 - 38)])
        machine.jump(-946_728_000)
        // A wall clock that was set back does not bring the two together.
        #expect(try arrivals() == [.seconds(98), .seconds(100)])
    }

    @Test("a payload that crashed alone is known as such until it is in flight again, over any number of restarts")
    func crashedAlone() async throws {
        func entry() throws -> InboxEntry { try #require(try open().entries().first) }
        let ids = try { try open().add(payloads(1, 1)) }()
        try await { try await open().record(.begun(ids[0], attempt: 1)) }()
        for _ in 0..<3 { #expect(try entry().crashedAlone && entry().crashes == 1) }
        try await {
            let inbox = try open()
            for id in ids { try await inbox.record(.begun(id, attempt: 2)) }
        }()
        #expect(try !entry().crashedAlone && entry().crashes == 2)
    }

    @Test("a payload in flight at a crash is suspect until an attempt has failed, over any number of restarts")
    func suspect() async throws {
        func entry() throws -> InboxEntry { try #require(try open().entries().first) }
        let id = try { try open().add(payloads(1))[0] }()
        #expect(try !entry().isSuspect)
        try await { try await open().record(.begun(id, attempt: 1)) }()
        for _ in 0..<2 { #expect(try entry().isSuspect && entry().crashes == 1) }
        try await {
            let inbox = try open()
            try await inbox.record(.begun(id, attempt: 2))
            try await inbox.record(.failed(id, handled: []))
        }()
        #expect(try !entry().isSuspect && entry().crashes == 1)
    }

    @Test("records that wait together and whose write fails all throw, and have changed nothing")
    func failed() async throws {
        let inbox = try open(capacity: 1000, bytes: 1 << 20)
        let ids = try (0..<300).flatMap { _ in try inbox.add(payloads(100)) }
        try await inbox.record(.begun(ids[0], attempt: 1))
        try inbox.database.run("PRAGMA max_page_count = 1")
        let long = (0..<100).map { "route \($0)" }
        let failures = await withTaskGroup(of: Bool.self) { group in
            for id in ids {
                group.addTask {
                    do { try await inbox.record(.failed(id, handled: long)) } catch {
                        return error as? SQLiteError == .full(path: inbox.database.path)
                    }
                    return false
                }
            }
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        // Some may have found room on a page that was not full.
        #expect(failures > 250)
        try inbox.database.run("PRAGMA max_page_count = 1000000")
        for id in ids { try await inbox.record(.ended(id)) }
        #expect(inbox.count == 0 && inbox.bytes == 0)
        #expect(try inbox.entries().isEmpty)
    }

    @Test("an add that fails does not fail the records that are written with it")
    func addFails() async throws {
        let inbox = try open(capacity: 1000, bytes: 1 << 24)
        let ids = try inbox.add(payloads(1, 1, 1, 1))
        for id in ids { try await inbox.record(.begun(id, attempt: 1)) }
        try inbox.database.run("PRAGMA max_page_count = 1")
        let large = payloads(100_000)
        for attempt in 2..<40 {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for id in ids { group.addTask { try await inbox.record(.begun(id, attempt: attempt)) } }
                group.addTask {
                    #expect(throws: SQLiteError.full(path: inbox.database.path)) { try inbox.add(large) }
                }
                try await group.waitForAll()
            }
        }
        #expect(inbox.count == 4 && inbox.bytes == 4)
        #expect(try inbox.entries().map(\.attempts) == [39, 39, 39, 39])
    }

    @Test("an inbox whose database was closed fails every call, also those that wait")
    func closed() async throws {
        let inbox = try open()
        let ids = try inbox.add(payloads(1))
        inbox.database.close()
        let error = SQLiteError.closed(path: inbox.database.path)
        for _ in 0..<3 { await #expect(throws: error) { try await inbox.record(.ended(ids[0])) } }
        #expect(throws: error) { try inbox.add(payloads(1)) }
        #expect(throws: error) { try inbox.entries() }
        #expect(try open().entries().map(\.id) == ids)
    }

    // In a process of its own, which a signal ends if it waits for a lock that it has.
    @Test("records that a failed add leaves behind are written although no thread is at work")
    func failedAddition() async {
        await #expect(processExitsWith: .exitCode(0)) {
            alarm(60)
            let folder = StateFolder()
            let database = try SQLiteDatabase(directory: folder.next())
            let rows = try database.withConnection { connection throws(SQLiteError) in try InboxRows(&connection) }
            let jobs = Mutex<[@Sendable () -> Void]>([])
            // One thread, which is slow to begin, and then none.
            let thread = SerialThread(rest: .zero) { job in
                let isFirst = jobs.withLock { jobs in
                    jobs.append(job)
                    return jobs.count == 1
                }
                if !isFirst { job() }
            }
            let writer = InboxWriter(database, rows, thread)
            let note = Task { try await writer.write([.ended(1)]) }
            while jobs.withLock({ $0.isEmpty }) { await Task.yield() }
            #expect(throws: SQLiteError.self) {
                try writer.write { _, _ throws(SQLiteError) -> Int in
                    // The thread finds its note gone, and ends.
                    jobs.withLock { $0[0] }()
                    throw .full(path: "")
                }
            }
            try await note.value
            if jobs.withLock({ $0.count }) != 2 { exit(8) }
        }
    }
}
#endif
