#if SQLite
import Foundation
import KiiPush
import KiiPushTesting
import Synchronization
import Testing

@testable import KiiPushSQLite

/// What becomes of commits that one write takes to the disk together.
@Suite(.timeLimit(.minutes(1)))
struct SharedWriteTests {
    private let database: SQLiteDatabase
    private let store: SQLiteSeenStore
    private let folder: StateFolder
    private let directory: String

    init() throws {
        folder = try StateFolder()
        directory = folder.next()
        database = try SQLiteDatabase(directory: directory)
        store = try SQLiteSeenStore(database, clock: ManualClock())
    }

    private func lease(_ number: Int) throws -> SeenLease {
        guard case .fresh(let lease) = store.begin(.numbered(number), now: .seconds(0)) else {
            throw Failure(what: "message \(number) should be fresh")
        }
        return lease
    }

    private struct Failure: Error {
        let what: String
    }

    /// Lets threads of their own do things while nobody can write, until as many commits wait as are expected; one more
    /// thread then does what comes last.
    private func together(
        waiting: Int, _ sql: String, _ bodies: [@Sendable () throws -> Void], last: (@Sendable () -> Void)? = nil
    ) throws -> [SQLiteError?] {
        let errors = Mutex([SQLiteError?](repeating: nil, count: bodies.count))
        let group = DispatchGroup()
        try database.withConnection { connection throws(SQLiteError) in
            try connection.script(sql)
            for (index, body) in bodies.enumerated() {
                group.enter()
                Thread.detachNewThread {
                    do { try body() } catch { errors.withLock { $0[index] = error as? SQLiteError } }
                    group.leave()
                }
            }
            while store.waiting < waiting { sched_yield() }
            if let last {
                group.enter()
                Thread.detachNewThread {
                    last()
                    group.leave()
                }
            }
        }
        group.wait()
        return errors.withLock { $0 }
    }

    @Test("commits that wait together are all written, one of a lease however many threads ask for it")
    func written() throws {
        let leases = try (0..<8).map(lease)
        let store = store
        let errors = try together(
            waiting: 8, "",
            (leases + leases.prefix(3)).map { lease in { try store.commit(lease, now: .seconds(0)) } })
        #expect(errors.allSatisfy { $0 == nil })
        #expect(store.counts == SeenCounts(strong: .init(remembered: 8)))
        database.close()
        let again = try SQLiteSeenStore(try SQLiteDatabase(directory: directory), clock: ManualClock())
        #expect(again.counts == SeenCounts(strong: .init(remembered: 8)))
    }

    @Test("commits whose write fails all throw, and stay in flight until they are told again")
    func failed() throws {
        let leases = try (0..<200).map(lease)
        let store = store
        let commits = leases.map { lease in { @Sendable () throws in try store.commit(lease, now: .seconds(0)) } }
        let errors = try together(waiting: 200, "VACUUM; PRAGMA max_page_count = 1", commits)
        #expect(errors.allSatisfy { $0 == .full(path: database.path) })
        #expect(store.counts == SeenCounts(inFlight: 200))
        _ = try together(waiting: 0, "PRAGMA max_page_count = 1000000", [])
        for commit in commits { try commit() }
        #expect(store.counts == SeenCounts(strong: .init(remembered: 200)))
    }

    @Test("a release of a message that is just being written comes too late, unless the write fails")
    func released() throws {
        let leases = try (0..<200).map(lease)
        let store = store
        let commits = leases.map { lease in { @Sendable () throws in try store.commit(lease, now: .seconds(0)) } }
        _ = try together(waiting: 200, "VACUUM; PRAGMA max_page_count = 1", commits) { store.release(leases[0]) }
        #expect(store.counts?.inFlight == 199)
        #expect(!store.isDone(.numbered(0), at: .seconds(0)))
        _ = try together(waiting: 199, "PRAGMA max_page_count = 1000000", commits) { store.release(leases[1]) }
        #expect(store.isDone(.numbered(1), at: .seconds(0)) && !store.isDone(.numbered(0), at: .seconds(0)))
    }
}
#endif
