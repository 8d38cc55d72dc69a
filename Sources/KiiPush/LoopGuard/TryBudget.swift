/// How many messages of a key are tried within an hour without being released.
///
/// It bounds what a loop gets after its breaker has opened.
struct TryBudget {
    /// How many messages of an hour may be tried without being released.
    static let messages = 16
    /// How often in an hour more may be tried, to revise a verdict on what goes on arriving while nothing is handled.
    static let mostRevisions = 2

    private var tries: [(time: Int64, count: Int)] = []
    private var revisions: [Int64] = []

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

    mutating func revise(_ now: Int64) { revisions.append(now) }

    /// What was tried was released: it counts no more.
    mutating func release() { tries = [] }
}
