import KiiPushSystem
import KiiPushTesting
import Synchronization
import Testing

@Suite("Shortages")
final class ShortagesTests: Sendable {
    private let clock = ManualClock()
    private let changes = Mutex<[String]>([])

    private func shortages() -> Shortages {
        Shortages({ change in self.changes.withLock { $0.append("\(change)".prefix(9).description) } }, clock: clock)
    }

    @Test(
        "one that nobody begins again for a minute has ended",
        arguments: [.descriptors, .memory, .output] as [Shortage.Kind])
    func untried(kind: Shortage.Kind) {
        let shortages = shortages()
        for _ in 1...10 {
            shortages.begin(kind, "they wait")
            clock.advance(by: .seconds(60))
            #expect(shortages.isShort(of: kind) && shortages.current.map(\.kind) == [kind])
        }
        clock.advance(by: .nanoseconds(1))
        #expect(shortages.current.isEmpty && !shortages.isShort(of: kind))
        shortages.end(kind)
        #expect(changes.withLock { $0 } == ["short of ", "no longer"])
        shortages.begin(kind, "they wait again")
        #expect(shortages.current.map(\.detail) == ["they wait again"] && shortages.begun(kind) == 2)
    }

    @Test("one that begins again after the minute is a new one")
    func again() {
        let shortages = shortages()
        shortages.begin(.memory, "first")
        clock.advance(by: .seconds(61))
        shortages.begin(.memory, "second")
        #expect(shortages.current.map(\.detail) == ["second"] && shortages.begun(.memory) == 2)
        #expect(changes.withLock { $0 } == ["short of ", "no longer", "short of "])
    }

    @Test(
        "one that is not tried again in time lasts until it is ended",
        arguments: [.disk, .log, .broker] as [Shortage.Kind])
    func lasting(kind: Shortage.Kind) {
        let shortages = shortages()
        shortages.begin(kind, "nobody tries")
        clock.advance(by: .seconds(3600))
        #expect(shortages.isShort(of: kind) && shortages.current.map(\.kind) == [kind])
        shortages.end(kind)
        #expect(shortages.current.isEmpty)
    }
}
