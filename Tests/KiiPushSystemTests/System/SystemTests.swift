import Glibc
import KiiPushTesting
import Synchronization
import Testing

@testable import KiiPushSystem

@Suite("Shortages")
final class ShortagesTests: Sendable {
    private let clock = ManualClock()
    private let changes = Mutex<[String]>([])

    private func shortages() -> Shortages {
        Shortages({ change in self.changes.withLock { $0.append("\(change)".prefix(9).description) } }, clock: clock)
    }

    @Test(
        "a shortage that nobody reports again for a minute has ended",
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

    @Test("a shortage that is reported again after the minute is a new one")
    func again() {
        let shortages = shortages()
        shortages.begin(.memory, "first")
        clock.advance(by: .seconds(61))
        shortages.begin(.memory, "second")
        #expect(shortages.current.map(\.detail) == ["second"] && shortages.begun(.memory) == 2)
        #expect(changes.withLock { $0 } == ["short of ", "no longer", "short of "])
    }

    @Test(
        "a shortage that nobody retries by the minute lasts until it is ended",
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

@Suite(.timeLimit(.minutes(1)))
struct CaughtSignalTests {
    @Test("a signal is caught while anybody waits for it, again and again, and then does what it did before")
    func caught() async {
        // Nothing else in this process uses it.
        _ = signal(SIGUSR2, SIG_IGN)
        for _ in 1...2 {
            let (calls, call) = AsyncStream.makeStream(of: Void.self)
            var waiting = [CaughtSignal(SIGUSR2) {}, CaughtSignal(SIGUSR2) { call.yield() }]
            waiting.removeFirst()
            kill(getpid(), SIGUSR2)
            for await _ in calls { break }
            waiting = []
            let action = signal(SIGUSR2, SIG_IGN)
            #expect(unsafe unsafeBitCast(action, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self))
        }
        _ = signal(SIGUSR2, SIG_DFL)
    }
}

struct ErrorNumberTests {
    @Test(
        "repeats a call that a signal interrupts, and no other",
        arguments: [(EINTR, [-1, -1, 5, 6], 5, [6]), (EIO, [-1, 5], -1, [5])] as [(Int32, [Int], Int, [Int])])
    func retries(number: Int32, results: [Int], expected: Int, left: [Int]) {
        var results = results
        let result = retrying {
            errno = number
            return results.removeFirst()
        }
        #expect(result == expected && results == left)
    }
}

@Suite(.timeLimit(.minutes(5)))
struct SerialThreadTests {
    private final class Record: Sendable {
        struct State {
            var (running, most) = (0, 0)
            var numbers = [[Int]](repeating: [], count: 8)
        }

        let state = Mutex(State())

        func run(_ number: Int, of task: Int) -> Int {
            state.withLock { state in
                state.running += 1
                state.most = max(state.most, state.running)
                state.numbers[task].append(number)
            }
            // Others would run now if they could.
            sched_yield()
            state.withLock { $0.running -= 1 }
            return number * 2
        }
    }

    @Test(
        "pieces run once each, one at a time, and those of one task in its order, whether the thread rests or ends",
        arguments: [Duration.zero, .microseconds(50), .seconds(1)])
    func order(rest: Duration) async {
        let thread = SerialThread(rest: rest)
        let record = Record()
        await withTaskGroup(of: Void.self) { group in
            for task in 0..<8 {
                group.addTask {
                    for number in 0..<200 {
                        #expect(await thread.run { record.run(number, of: task) } == number * 2)
                    }
                }
            }
        }
        let (most, numbers) = record.state.withLock { ($0.most, $0.numbers) }
        #expect(most == 1)
        #expect(numbers == Array(repeating: Array(0..<200), count: 8))
    }
}
