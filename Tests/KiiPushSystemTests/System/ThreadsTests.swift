import Glibc
import Synchronization
import Testing

@testable import KiiPushSystem

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
