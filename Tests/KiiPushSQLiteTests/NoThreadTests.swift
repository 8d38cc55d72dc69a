#if SQLite
import Foundation
import KiiPush
import Synchronization
import Testing

import KiiPushDelivery
@testable import KiiPushSQLite

/// What an inbox does on a machine that gives it no thread.
struct NoThreadTests {
    // In a process of its own, which a signal ends if it waits for a lock that it has.
    @Test("notes that an addition could not take along are written where there is no thread for them")
    func failedAddition() async {
        await #expect(processExitsWith: .exitCode(0)) {
            alarm(60)
            let folder = try StateFolder()
            let database = try SQLiteDatabase(directory: folder.next())
            let rows = try database.withConnection { connection throws(SQLiteError) in try InboxRows(&connection) }
            let jobs = Mutex<[@Sendable () -> Void]>([])
            // One thread, which is slow to begin, and then none.
            let writer = InboxWriter(
                database, rows,
                startWork: { job in
                    let isFirst = jobs.withLock { jobs in
                        jobs.append(job)
                        return jobs.count == 1
                    }
                    if !isFirst { job() }
                })
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
