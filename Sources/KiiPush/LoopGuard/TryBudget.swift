/// How many messages of a key are tried within an hour without being released.
///
/// It bounds the messages of a loop that are handled after its breaker has opened.
struct TryBudget {
    /// How many messages may be tried in an hour without being released.
    static let messages = 16
    /// How often in an hour more may be tried, to revise a verdict if messages keep arriving while nothing is handled.
    ///
    /// A revision that clearly finds a loop is the last one: each takes about twelve messages of a stream of one a
    /// second, and with two of them a loop that answers these, too, was handled 43 times in an hour instead of 27.
    static let mostRevisions = 2

    /// How many tries in a row a revision may take while the evidence is undecided.
    private static let triesOfRevision = 3
    /// How many of the messages are reserved for tries of a single message, once there was a verdict.
    static let reserve = 4

    private var tries: [(time: Int64, count: Int)] = []
    private var revisions: [Int64] = []
    /// Until when no other revision begins, because one clearly found a loop.
    private var noneUntil: Int64 = .min
    /// How many tries the current revision has had; zero if there is none.
    private var revised = 0

    /// When the last try was; nil if there was none since a release.
    var latest: Int64? { tries.last?.time }

    /// When the oldest try no longer counts; nil if there is none.
    var refilled: Int64? { tries.first.map { $0.time &+ .seconds(3600) } }

    mutating func left(_ now: Int64) -> Int {
        tries.removeAll { now.since($0.time) >= .seconds(3600) }
        return Self.messages - tries.reduce(0) { $0 + $1.count }
    }

    mutating func use(_ count: Int, _ now: Int64) { tries.append((now, count)) }

    mutating func mayRevise(_ now: Int64) -> Bool {
        revisions.removeAll { now.since($0) >= .seconds(3600) }
        return now >= noneUntil && revisions.count < Self.mostRevisions
    }

    /// Uses a try to revise a verdict, of the current revision or a new one; false if none is left.
    mutating func takeRevision(_ now: Int64) -> Bool {
        if revised == 0 {
            guard mayRevise(now) else { return false }
            revisions.append(now)
        }
        guard revised < Self.triesOfRevision else { return false }
        revised += 1
        return true
    }

    /// Records that the current revision, if there is one, has clearly found a loop: the next one is an hour away.
    mutating func confirmLoop(_ now: Int64) {
        if revised > 0 { noneUntil = now &+ .seconds(3600) }
    }

    /// Ends the current revision: the next try begins another one.
    mutating func endRevision() { revised = 0 }

    /// Resets the count, because the tried messages were released.
    mutating func release() { tries = [] }
}
