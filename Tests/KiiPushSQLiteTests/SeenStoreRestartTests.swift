#if SQLite
import KiiPush
import KiiPushDelivery
import KiiPushTesting
import Testing

@testable import KiiPushSQLite

/// What a seen store knows after it was closed and opened again.
struct SeenStoreRestartTests {
    private let machine = Machine()
    private let folder = StateFolder()
    private var directory: String { folder.directory }

    /// What an earlier process leaves behind, and a later one finds; each has a clock that begins at nothing.
    private func process<Result>(
        _ window: SeenWindow = .standard, _ body: (SQLiteSeenStore, ManualClock) throws -> Result
    ) throws -> Result {
        let database = try machine.open(directory)
        let clock = ManualClock()
        return try body(try SQLiteSeenStore(database, window: window, clock: clock), clock)
    }

    @Test("messages with one key and with two are remembered after a restart, each by all its keys; the second decides")
    func remembered() throws {
        try process { store, clock in
            try store.handle(.numbered(1), at: clock.now)
            try store.handle(.numbered(2, 3), at: clock.now)
            try store.handle(.numbered(2, 6), at: clock.now)
            try store.handle(.numbered(4, strength: .weak), at: clock.now)
        }
        try process { store, clock in
            for number in 1...3 { #expect(store.isDone(.numbered(number), at: clock.now)) }
            #expect(store.isDone(.numbered(4, strength: .weak), at: clock.now))
            #expect(!store.isDone(.numbered(4), at: clock.now))
            #expect(!store.isDone(.numbered(5), at: clock.now))
            for second in [3, 6] { #expect(store.isDone(.numbered(2, second), at: clock.now)) }
            #expect(!store.isDone(.numbered(2, 7), at: clock.now))
            #expect(store.counts == SeenCounts(strong: .init(remembered: 3), weak: .init(remembered: 1)))
        }
    }

    @Test("of commits and releases of one message at once, one counts, in memory as in the file")
    func atOnce() async throws {
        let database = try SQLiteDatabase(directory: directory)
        let store = try SQLiteSeenStore(database, clock: ManualClock())
        for number in 0..<50 {
            let lease = try store.lease(.numbered(number))
            await withTaskGroup(of: Void.self) { group in
                for task in 0..<4 {
                    group.addTask {
                        if task == 0 { store.release(lease) } else { try? store.commit(lease, now: .seconds(0)) }
                    }
                }
            }
        }
        let done = (0..<50).map { store.isDone(.numbered($0), at: .seconds(0)) }
        #expect(store.counts == SeenCounts(strong: .init(remembered: done.count { $0 })))
        database.close()
        let again = try SQLiteSeenStore(try SQLiteDatabase(directory: directory), clock: ManualClock())
        #expect((0..<50).map { again.isDone(.numbered($0), at: .seconds(0)) } == done)
        #expect(again.counts == store.counts)
    }

    @Test("a message that was in flight or released is new for the next process, under a number of its own")
    func inFlight() throws {
        let numbers = try process { store, clock in
            let leases = try (1...2).map { try store.lease(.numbered($0), at: clock.now) }
            store.release(leases[1])
            return leases.map(\.number)
        }
        try process { store, clock in
            for number in 1...2 {
                let lease = try store.lease(.numbered(number), at: clock.now)
                #expect(!numbers.contains(lease.number))
            }
        }
    }

    /// What happens to a machine before a message is handled, and before each later process; and for how many seconds
    /// that process knows the message.
    struct Life: Sendable, CustomTestStringConvertible {
        typealias Event = @Sendable (Machine) -> Void

        let testDescription: String
        let before: Event
        let later: [(event: Event, seconds: Int64)]

        init(_ words: String, before: @escaping Event = { _ in }, _ later: (event: Event, seconds: Int64)...) {
            (testDescription, self.before, self.later) = (words, before, later)
        }
    }

    static let lives = [
        Life("one boot", ({ $0.pass(300) }, 300), ({ $0.pass(301) }, 0)),
        Life("one boot, and the wall clock jumps ahead", ({ $0.pass(300, jumping: years) }, 300)),
        Life("one boot, and the wall clock jumps back", ({ $0.pass(300, jumping: -years) }, 300)),
        Life("one boot, begun in 1970", before: { $0.jump(-years) }, ({ $0.pass(10, jumping: years) }, 590)),
        Life("reboots", ({ $0.pass(300, boot: "second") }, 300), ({ $0.pass(301, boot: "third") }, 0)),
        // For the window, not for years.
        Life("a reboot into 1970", ({ $0.pass(0, jumping: -years, boot: "second") }, 600)),
        Life("a reboot from 1970", before: { $0.jump(-years) }, ({ $0.pass(0, jumping: years, boot: "second") }, 0)),
        // Each process is a boot of its own: by the monotonic clock it would be of this very moment.
        Life("boots without a name", before: { $0.boot("") }, ({ $0.jump(300) }, 300)),
    ]

    @Test(
        "the age goes on by the monotonic clock within a boot, and by the wall clock after a reboot", arguments: lives)
    func age(life: Life) throws {
        life.before(machine)
        try process { store, clock in
            try store.handle(.numbered(1), at: clock.now)
            try store.handle(.numbered(2, strength: .weak), at: clock.now)
        }
        for (event, seconds) in life.later {
            event(machine)
            // The weak age is five seconds, the strong one ten minutes.
            for (keys, left) in [(DedupeKeys.numbered(1), seconds), (.numbered(2, strength: .weak), seconds - 595)] {
                try process { store, clock in
                    #expect(store.isDone(keys, at: clock.now) == (left > 0))
                    if left > 0 { #expect(store.isDone(keys, at: .seconds(left - 1))) }
                    #expect(!store.isDone(keys, at: .seconds(max(left, 0) + 1)))
                }
            }
        }
    }

    @Test(
        "equal pushes of a backlog are told apart by their arrivals after a restart and a reboot too, however late they are",
        arguments: ["restart", "reboot", "reboot into 1970"])
    func weakBacklog(how: String) async throws {
        func push(_ arrival: Int64) -> RawPayload {
            var payload = PayloadFixture.directPush().payload(.long)
            payload.arrivedAt = .seconds(arrival)
            return payload
        }
        func receiver(_ database: SQLiteDatabase, _ inbox: SQLiteInbox, _ clock: ManualClock) throws -> PushReceiver {
            let store = try SQLiteSeenStore(writtenBy: inbox, clock: clock)
            let receiver = PushReceiver(clock: clock) {
                Deduplicator(store: store, secret: database.secret, clock: clock)
            }
            receiver.onDirectPush { _, _ in }
            return receiver
        }
        try await {
            let database = try machine.open(directory)
            let clock = ManualClock()
            clock.advance(by: .seconds(100))
            machine.pass(100)
            let inbox = try SQLiteInbox(database, clock: clock)
            let receiver = try receiver(database, inbox, clock)
            // The first one is handled; its copy and two others, each with a copy, wait in the inbox.
            let ids = try inbox.add([0, 2, 10, 12, 20, 21].map(push))
            #expect(await "\(receiver.receive(push(0)))" == "handled")
            try await inbox.record(.ended(ids[0]))
            database.close()
        }()
        machine.pass(3600)
        if how != "restart" { machine.boot("second") }
        if how == "reboot into 1970" { machine.jump(-years) }
        let database = try machine.open(directory)
        let clock = ManualClock(start: .seconds(10_000))
        let inbox = try SQLiteInbox(database, clock: clock)
        let receiver = try receiver(database, inbox, clock)
        var words: [String] = []
        for entry in try inbox.entries() { words.append("\(await receiver.receive(entry.payload))") }
        let copy = "duplicate (done)"
        #expect(words == [copy, "handled", copy, "handled", copy])
    }

    @Test("the count goes on over a restart, and a smaller window keeps the youngest")
    func count() throws {
        try process(SeenWindow(count: 10)) { store, clock in
            for number in 0..<25 { try store.handle(.numbered(number), at: clock.now) }
        }
        try process(SeenWindow(count: 10)) { store, clock in
            #expect((0..<25).filter { store.isDone(.numbered($0), at: clock.now) } == Array(15..<25))
            for number in 30..<33 { try store.handle(.numbered(number), at: clock.now) }
        }
        try process(SeenWindow(count: 5)) { store, clock in
            #expect(store.counts?.strong == .init(remembered: 5))
            #expect((0..<33).filter { store.isDone(.numbered($0), at: clock.now) } == [23, 24, 30, 31, 32])
        }
    }

    @Test("the file keeps as many rows as the window counts, also when the window was made smaller")
    func rows() throws {
        func rows(_ store: SQLiteSeenStore) throws -> Int64 {
            try store.database.number("SELECT count(*) FROM seen")
        }
        try process(SeenWindow(count: 500)) { store, clock in
            for number in 0..<600 {
                try store.handle(.numbered(number), at: clock.now)
                try store.handle(.numbered(number, strength: .weak), at: clock.now)
            }
            #expect(try rows(store) == 1000)
        }
        try process(SeenWindow(count: 100)) { store, clock in
            var last = try rows(store)
            for number in 600..<620 {
                try store.handle(.numbered(number), at: clock.now)
                let now = try rows(store)
                #expect(last - now <= 130)
                last = now
            }
            #expect(last == 200)
        }
        // By age, too.
        try process(SeenWindow(count: 500)) { store, clock in
            for number in 700..<750 { try store.handle(.numbered(number), at: .seconds(10_000)) }
            #expect(try rows(store) == 50 + 100)
        }
        try process(SeenWindow(count: 0)) { store, clock in
            try store.handle(.numbered(900), at: clock.now)
            #expect(!store.isDone(.numbered(900), at: clock.now))
        }
    }

    @Test("the secret is made once, and another database has another")
    func secret() throws {
        let first = try machine.open(directory).secret
        #expect(try machine.open(directory).secret == first)
        #expect(try machine.open(folder.next()).secret != first)
    }

    @Test("a boot that no row refers to is forgotten")
    func boots() throws {
        for number in 1...20 {
            machine.boot("boot \(number)")
            try process(SeenWindow(count: 3)) { store, clock in try store.handle(.numbered(number), at: clock.now) }
        }
        #expect(try machine.open(directory).number("SELECT count(*) FROM boots") == 3)
    }
}

/// Thirty years in seconds.
private let years: Int64 = 946_728_000
#endif
