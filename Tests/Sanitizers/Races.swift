// Proves that the thread sanitizer sees what it should: `none` is correct and must be silent; `beside` forgets the lock
// for one of two numbers, and `bare` knows no lock at all.

import Synchronization

/// Two numbers: one behind a lock, one that somebody forgot.
final class Counter: @unchecked Sendable {  // the forgotten number is the point
    private let locked = Mutex([Int: Int]())
    private var forgotten = 0

    func add(_ key: Int) { locked.withLock { $0[key, default: 0] += 1 } }
    func forget() { forgotten += 1 }
    var sum: Int { locked.withLock { $0.values.reduce(0, +) } }
}

@main
struct Races {
    static func main() async {
        let kind = CommandLine.arguments.dropFirst().first ?? "none"
        let counter = Counter()
        await withTaskGroup(of: Void.self) { group in
            for task in 0..<8 {
                group.addTask {
                    for number in 0..<20_000 {
                        if kind != "bare" { counter.add((number + task) % 7) }
                        // Seldom enough that a lock orders some of them by chance.
                        if kind != "none", number % 7 == task % 2 { counter.forget() }
                    }
                }
            }
        }
        print(counter.sum)
    }
}
