import KiiPushTesting
import Synchronization
import Testing

@testable import KiiPush
@testable import KiiPushDelivery
@testable import KiiPushTestSupport

/// Many messages, processes that end at any moment, handlers and an inbox that fail as a seed says.
@Suite(.onTwoThreads, .timeLimit(.minutes(5)))
struct ServiceChaosTests {
    /// What happened to the messages over all processes.
    private final class Record: Sendable {
        struct State {
            /// How often each message's handlers succeeded, and the last one of each object.
            var successes: [Int: [String]] = [:]
            var last: [Int: Int] = [:]
            var disorder: [String] = []
            /// What was in flight when a process ended.
            var inFlightAtCrash: Set<Int> = []
            var dice = SeededGenerator(seed: 0)
        }

        let state = Mutex(State())

        init(seed: UInt64) { state.withLock { $0.dice = SeededGenerator(seed: seed) } }

        func roll(_ sides: UInt64) -> UInt64 { state.withLock { $0.dice.next() % sides } }
    }

    private static let objects = 97

    private static func bench(_ record: Record, _ inbox: SpyInbox, _ isAlive: Flag, endsCleanly: Bool) -> ServiceBench {
        let delivery = DeliverySettings.with { ($0.attempts, $0.backoff) = (1000, .milliseconds(10)) }
        var settings = ServiceSettings()
        (settings.concurrency, settings.messages, settings.drain) = (8, 300, .zero)
        // The clock runs on while the system keeps a thread waiting; within seconds, that would end a record's retries.
        if endsCleanly { settings.grace = .seconds(3600) }
        let bench = ServiceBench(routes: [], inbox: inbox, settings: settings, delivery: delivery)
        for route in ["a", "b"] {
            bench.receiver.onAny(id: route, options: .continue) { message, _ in
                if record.roll(4) == 0 { await Task.yield() }
                // A process that has ended runs nothing; what it was about to do counts as not done.
                guard isAlive.isSet, record.roll(20) != 0 else { throw TestError() }
                let number = message.number
                record.state.withLock { state in
                    state.successes[number, default: []].append(route)
                    guard route == "a" else { return }
                    let object = number % objects
                    if let last = state.last[object], last > number { state.disorder.append("\(number) after \(last)") }
                    state.last[object] = number
                }
            }
        }
        return bench
    }

    @Test(
        "nothing that was taken in is lost, and nothing done twice but what was in flight at a crash",
        arguments: 1...12 as ClosedRange<UInt64>)
    func chaos(seed: UInt64) async throws {
        let total = 1000
        let record = Record(seed: seed)
        let disk = SpyInbox.Disk()
        var next = 1
        var processes = 0
        while next <= total || !disk.isEmpty {
            processes += 1
            let isAlive = Flag()
            isAlive.set()
            let inbox = SpyInbox(disk)
            let failure = record.roll(50) + 5
            inbox.fail { call, what in what != "entries" && UInt64(call) % (failure + 20) == failure }
            let life = Int(record.roll(500)) + 40
            let isClean = record.roll(4) == 0
            let bench = Self.bench(record, inbox, isAlive, endsCleanly: isClean)
            let clock = OwnThreads.start {
                // Slowly, or a handler's time would be over before it got its turn.
                while !Task.isCancelled {
                    for _ in 0..<10 { await Task.yield() }
                    bench.clock.advance(by: .milliseconds(10))
                }
            }
            let (intake, run) = await bench.open()
            while inbox.count < life, next <= total || !disk.isEmpty {
                guard next <= total else {
                    await Task.yield()
                    continue
                }
                do throws(IntakeRefusal) {
                    _ = try await intake.submitWaiting(ServiceBench.payload(next, "o\(next % Self.objects)"))
                    next += 1
                } catch .failed {
                    continue
                } catch { break }
            }
            // The process ends: nothing that it does counts any more.
            if !isClean {
                isAlive.clear()
                inbox.crash()
                let rows = disk.rows
                record.state.withLock { state in
                    for row in rows.values where row.isInFlight {
                        guard let message = try? PushMessage(row.payload) else { continue }
                        state.inFlightAtCrash.insert(message.number)
                    }
                }
            }
            run.cancel()
            _ = try await run.value
            clock.cancel()
            try await clock.value
            if isClean { #expect(disk.numbers.allSatisfy { disk.rows[$0]?.isInFlight == false }) }
        }
        let (successes, disorder, inFlight) = record.state.withLock { ($0.successes, $0.disorder, $0.inFlightAtCrash) }
        #expect(successes.count == total)
        #expect(successes.values.allSatisfy { $0.contains("a") && $0.contains("b") })
        let twice = successes.filter { $0.value.count > 2 }.keys.filter { !inFlight.contains($0) }
        #expect(twice == [])
        #expect(disorder == [])
        #expect(processes > 3)
    }

    @Test("five thousand messages leave nothing behind", arguments: [true, false])
    func flat(isDurable: Bool) async throws {
        let inbox = SpyInbox(isLogging: false)
        let handled = Atomic<Int>(0)
        let bench = ServiceBench(routes: [], inbox: isDurable ? inbox : InMemoryInbox())
        bench.receiver.onAny(id: "r") { _, _ in handled.add(1, ordering: .relaxed) }
        let (intake, run) = await bench.open()
        var most = 0
        for number in 0..<5000 {
            _ = try await intake.submitWaiting(ServiceBench.payload(number, "o\(number % 1009)"))
            if number % 1000 == 0 {
                most = max(most, bench.service.state.withLock { $0.room.lanes.count + $0.runs.count })
            }
        }
        #expect(try await bench.close(run) == DrainReport())
        #expect(handled.load(ordering: .relaxed) == 5000)
        #expect(bench.receiver.metrics.nonzero == ["handled: 5000"])
        #expect(most <= 2016)
        #expect(inbox.disk.numbers == [])
        #expect(bench.service.status == ServiceStatus())
        bench.service.state.withLock { state in
            #expect(state.room.lanes.count == 0 && state.room.later.isEmpty)
            #expect(state.runs.isEmpty && state.refused.isEmpty)
        }
    }
}

/// The whole service from a seed: inbox, broker, clock, handlers, crashes, stops, and the order in which tasks run.
@Suite(.timeLimit(.minutes(5)))
struct ServiceSeedTests {
    @Test("every guarantee of the service holds for fifty seeds, as `check.sh` tries it for thousands")
    func seeds() {
        for seed in UInt64(1)...50 { #expect(ServiceRun.violations(seed: seed) == [], "seed \(seed)") }
    }

    @Test("a run notices a disk that loses what is in flight")
    func canary() {
        let noticed = (UInt64(1)...20).filter { !ServiceRun.violations(seed: $0, isDiskBroken: true).isEmpty }
        #expect(!noticed.isEmpty)
    }

    @Test("the same seed is the same run")
    func repeatable() {
        let seed = (UInt64(1)...20).first { !ServiceRun.violations(seed: $0, isDiskBroken: true).isEmpty } ?? 1
        let runs = (0..<3).map { _ in ServiceRun.violations(seed: seed, isDiskBroken: true) }
        #expect(runs[0] == runs[1] && runs[1] == runs[2])
    }
}
