/// How many messages of a key are tried within an hour without being released.
///
/// It bounds what a loop gets after its breaker has opened.
struct TryBudget {
    /// How many messages of an hour may be tried without being released.
    static let messages = 16
    /// How often in an hour more may be tried, to revise a verdict on what goes on arriving while nothing is handled.
    static let mostRevisions = 2

    /// How many tries in a row a revision may take, while what comes says neither.
    private static let triesOfRevision = 3
    /// How many of the messages are left for tries of a single one, once there was a verdict.
    static let reserve = 4

    private var tries: [(time: Int64, count: Int)] = []
    private var revisions: [Int64] = []
    /// How many tries the present revision has had; zero when there is none.
    private var revised = 0

    /// When the last try was; nil when there was none since a release.
    var latest: Int64? { tries.last?.time }

    /// When the oldest try counts no more; nil when there is none.
    var refilled: Int64? { tries.first.map { $0.time &+ .seconds(3600) } }

    mutating func left(_ now: Int64) -> Int {
        tries.removeAll { now.since($0.time) >= .seconds(3600) }
        return Self.messages - tries.reduce(0) { $0 + $1.count }
    }

    mutating func use(_ count: Int, _ now: Int64) { tries.append((now, count)) }

    mutating func mayRevise(_ now: Int64) -> Bool {
        revisions.removeAll { now.since($0) >= .seconds(3600) }
        return revisions.count < Self.mostRevisions
    }

    /// Takes a try that revises a verdict, the next one of its revision or the first of another; false if none is left.
    mutating func takeRevision(_ now: Int64) -> Bool {
        if revised == 0 {
            guard mayRevise(now) else { return false }
            revisions.append(now)
        }
        guard revised < Self.triesOfRevision else { return false }
        revised += 1
        return true
    }

    /// Has the next try that revises be the first of another revision.
    mutating func endRevision() { revised = 0 }

    /// What was tried was released: it counts no more.
    mutating func release() { tries = [] }
}
