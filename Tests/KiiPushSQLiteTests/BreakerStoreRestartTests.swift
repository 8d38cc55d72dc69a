#if SQLite
import KiiPush
import KiiPushTesting
import Synchronization
import Testing

@testable import KiiPushSQLite

/// What a breaker store, and a loop guard that has it, know after the file was closed and opened again.
struct BreakerStoreRestartTests {
    private let machine = Machine()
    private let directory: String
    private let folder: StateFolder

    init() throws {
        folder = try StateFolder()
        directory = folder.next()
    }

    /// What an earlier process leaves behind, and a later one finds; each has a clock that begins at nothing.
    @discardableResult
    private func process<Result>(_ body: (SQLiteBreakerStore, ManualClock) throws -> Result) throws -> Result {
        let database = try machine.open(directory)
        let clock = ManualClock()
        return try body(try SQLiteBreakerStore(database, clock: clock), clock)
    }

    /// Leaves one breaker, open for the next minute.
    private func leaveOne() throws {
        try process { store, clock in
            try store.write([Self.breaker(until: clock.now.advanced(by: .seconds(60)))], closed: [])
        }
    }

    private static func breaker(until: MonotonicInstant) -> TrippedBreaker {
        TrippedBreaker(
            key: TrippedBreaker.Key(isWide: true, digest: DedupeKey(first: .max, second: 1)), coolDown: .seconds(60),
            until: until)
    }

    /// In how many seconds the breaker's cool-down is over, as the store says.
    private func left() throws -> Int64 {
        try process { store, clock in
            let breaker = try #require(try store.breakers().first)
            return clock.now.duration(to: breaker.until).components.seconds
        }
    }

    @Test(
        "within a boot the cool-down goes on while nothing runs, whatever the wall clock does",
        arguments: [0, years, -years])
    func sameBoot(jump: Int64) throws {
        try leaveOne()
        machine.pass(20)
        machine.jump(jump)
        #expect(try left() == 40)
        machine.pass(100)
        #expect(try left() == -60)
    }

    @Test("after a reboot the wall clock counts, and what is over by it is over just now")
    func reboot() throws {
        try leaveOne()
        machine.pass(20)
        machine.boot("second")
        #expect(try left() == 40)
        machine.pass(100)
        machine.boot("third")
        #expect(try left() == 0)
        machine.jump(-Self.years)
        machine.boot("fourth")
        #expect(try left() > 60, "the guard cuts it")
    }

    @Test("a boot that nobody knows is never the same one")
    func unknownBoot() throws {
        machine.boot("")
        try leaveOne()
        machine.pass(10)
        machine.jump(20)
        #expect(try left() == 30)
    }

    @Test(
        "a guard waits on after a loop: not longer than its wait, whatever the clocks do meanwhile",
        arguments: [
            // Seconds that pass, what the wall clock jumps, whether the machine boots; how long it holds then.
            (20, 0, false, 40), (20, -years, false, 40), (20, years, false, 40),
            (20, 0, true, 40), (20, -years, true, 60), (20, years, true, 0), (20, -30, true, 60),
        ] as [(Int64, Int64, Bool, Int64)])
    func loopGuard(passed: Int64, jump: Int64, boots: Bool, held: Int64) async throws {
        let payload = PayloadFixture.pushToApp().payload(.long)
        let runs = Atomic<Int>(0)
        func receiver(_ store: SQLiteBreakerStore, _ clock: ManualClock) -> PushReceiver {
            let receiver = PushReceiver(clock: clock) { LoopGuard(breakers: store, clock: clock) }
            receiver.onPushToApp { _, _ in runs.add(1, ordering: .relaxed) }
            return receiver
        }
        do {
            let clock = ManualClock()
            let store = try SQLiteBreakerStore(try machine.open(directory), clock: clock)
            let first = receiver(store, clock)
            for number in 1...21 { #expect(await first.receive(payload).name == (number < 21 ? "handled" : "held")) }
            // As when it had found the loop.
            let key = try #require(try store.breakers().first).key
            let until = clock.now.advanced(by: .seconds(60))
            try store.write([TrippedBreaker(key: key, coolDown: .seconds(60), until: until)], closed: [])
        }
        machine.pass(passed)
        machine.jump(jump)
        if boots { machine.boot("second") }
        let clock = ManualClock()
        let second = receiver(try SQLiteBreakerStore(try machine.open(directory), clock: clock), clock)
        #expect(await second.receive(payload).name == "held")
        if held > 0 {
            clock.advance(by: .seconds(held - 1))
            #expect(await second.handleDue().isEmpty)
            clock.advance(by: .seconds(1))
        }
        #expect(await second.handleDue().map(\.name) == ["handled"], "one is tried")
        #expect(await second.receive(payload).name == "held", "the loop goes on")
        #expect(runs.load(ordering: .relaxed) == 21)
    }

    @Test("a closed database stops nothing, and what opened meanwhile is forgotten with the process")
    func closed() async throws {
        let clock = ManualClock()
        let database = try machine.open(directory)
        let loopGuard = LoopGuard(breakers: try SQLiteBreakerStore(database, clock: clock), clock: clock)
        let receiver = PushReceiver(clock: clock) { loopGuard }
        receiver.onPushToApp { _, _ in }
        database.close()
        let payload = PayloadFixture.pushToApp().payload(.long)
        for number in 1...22 { #expect(await receiver.receive(payload).name == (number < 21 ? "handled" : "held")) }
        #expect(loopGuard.storeFailures == 1)
        try process { (store, _) throws in #expect(try store.breakers().isEmpty) }
    }

    @Test("a database has one breaker store at a time, and forgets no boot that a breaker tells of")
    func one() throws {
        let database = try machine.open(directory)
        do {
            let store = try SQLiteBreakerStore(database)
            #expect(throws: SQLiteError.storeInUse(path: database.path, kind: "breaker")) {
                try SQLiteBreakerStore(database)
            }
            #expect(store.secret == database.secret)
        }
        _ = try SQLiteBreakerStore(database)
        database.close()
        #expect(throws: SQLiteError.closed(path: database.path)) { try SQLiteBreakerStore(database) }
        try leaveOne()
        for boot in ["second", "third"] {
            machine.boot(boot)
            #expect(try left() == 60)
        }
    }

    private static let years: Int64 = 50 * 31_557_600
}
#endif
