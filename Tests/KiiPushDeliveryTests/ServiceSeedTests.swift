import KiiPushTesting
import Synchronization
import Testing

@testable import KiiPush
@testable import KiiPushDelivery
@testable import KiiPushTestSupport

/// Many messages on two threads.
@Suite(.onTwoThreads, .timeLimit(.minutes(5)))
struct ServiceLoadTests {
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
