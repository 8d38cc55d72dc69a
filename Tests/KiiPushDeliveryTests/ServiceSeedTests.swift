import Testing

@testable import KiiPushTestSupport

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
