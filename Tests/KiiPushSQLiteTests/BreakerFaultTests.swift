#if SQLite
import Foundation
import KiiPush
import Testing

@testable import KiiPushSQLite

/// What a breaker store keeps when the n-th call on the disk fails, for every n until a run has no fault left.
struct BreakerFaultTests {
    @Test("a write that fails has changed nothing, and the next one may succeed", arguments: [false, true])
    func everyCall(isFull: Bool) async throws {
        let folder = try StateFolder(parent: "/dev/shm")
        await #expect(processExitsWith: .exitCode(0)) { [path = folder.path as String, isFull = isFull as Bool] in
            FaultyDisk.install()
            var failures = 0
            for call in 1... {
                let database = try SQLiteDatabase(directory: "\(path)/\(isFull)-\(call)")
                let store = try SQLiteBreakerStore(database, capacity: 3)
                FaultyDisk.plan(FaultyDisk.Fault(call: call, lasts: false, isFull: isFull))
                var model: [TrippedBreaker.Key: TrippedBreaker] = [:]
                for number in 0..<6 {
                    let new = breaker(number)
                    let closed = number < 3 ? [] : [breaker(number - 3).key]
                    do { try store.write([new], closed: closed) } catch {
                        failures += 1
                        if try Set(store.breakers()) != Set(model.values) { exit(7) }
                        try store.write([new], closed: closed)
                    }
                    for key in closed { model[key] = nil }
                    model[new.key] = new
                }
                let calls = FaultyDisk.calls
                FaultyDisk.plan(nil)
                if try Set(store.breakers()) != Set(model.values) { exit(6) }
                database.close()
                let later = try SQLiteBreakerStore(try SQLiteDatabase(directory: "\(path)/\(isFull)-\(call)"))
                if try Set(later.breakers().map(\.key)) != Set(model.keys) { exit(5) }
                if calls < call { break }
                if call > 1000 { exit(8) }
            }
            if failures < 10 { exit(9) }
        }
    }
}

private func breaker(_ number: Int) -> TrippedBreaker {
    TrippedBreaker(
        key: TrippedBreaker.Key(isWide: number % 2 == 0, digest: DedupeKey(first: UInt64(number), second: 1)),
        coolDown: .seconds(60), until: .seconds(1000))
}
#endif
