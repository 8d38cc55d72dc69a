import CAllocationCounter
import KiiPush

/// What remembering a million messages costs.
struct SeenKeysReport {
    let keys: Int
    let megabytes: Double
    let nanosecondsToBegin: Double
    let nanosecondsToCommit: Double
    let longestPauseInMicroseconds: Double
}

/// Fills a store three times with the same keys.
///
/// A pause of the store's own comes at the same message each time, one of the machine's does not; so the longest pause
/// is the longest over all messages of the shortest over the three.
func measureSeenKeys() throws -> SeenKeysReport {
    let count = 1_000_000
    let keys = try millionKeys(count)
    let window = SeenWindow(count: count)
    let now = MonotonicInstant(nanoseconds: 0)
    var pauses = [Int64](repeating: .max, count: count)
    var best = (begin: Double.infinity, commit: Double.infinity)
    var bytes = 0
    for _ in 0..<3 {
        let before = allocation_counter_live_bytes()
        let store = InMemorySeenStore(window: window)
        for number in 0..<count {
            let start = ContinuousClock.now
            if case .fresh(let lease) = store.begin(keys[number], now: now) { store.commit(lease, now: now) }
            pauses[number] = min(pauses[number], Int64(start.duration(to: .now).nanoseconds))
        }
        bytes = Int(allocation_counter_live_bytes()) - Int(before)
        try check(store.begin(keys[0], now: now) == .done && store.evictedEarly == 0, "a million keys remembered")
        let times = try timeAfterwards(store, keys, now)
        best = (min(best.begin, times.begin), min(best.commit, times.commit))
    }
    return SeenKeysReport(
        keys: count, megabytes: Double(bytes) / 1e6, nanosecondsToBegin: best.begin, nanosecondsToCommit: best.commit,
        longestPauseInMicroseconds: Double(pauses.max() ?? 0) / 1000)
}

/// Begins and commits new messages in a store that is full, so that each one forgets another.
private func timeAfterwards(
    _ store: InMemorySeenStore, _ keys: [DedupeKeys], _ now: MonotonicInstant
) throws -> (begin: Double, commit: Double) {
    let more = try millionKeys(10_000)
    var leases: [SeenLease] = []
    leases.reserveCapacity(more.count)
    let start = ContinuousClock.now
    for key in more { if case .fresh(let lease) = store.begin(key, now: now) { leases.append(lease) } }
    let middle = ContinuousClock.now
    for lease in leases { store.commit(lease, now: now) }
    let end = ContinuousClock.now
    try check(leases.count == more.count, "new messages admitted by a full store")
    let number = Double(more.count)
    return (start.duration(to: middle).nanoseconds / number, middle.duration(to: end).nanoseconds / number)
}

/// Keys as random as a deduplicator's: one message's, under many secrets.
private func millionKeys(_ count: Int) throws -> [DedupeKeys] {
    var source = Payloads()
    let message = try PushMessage(source.next(1)[0])
    return (0..<count).map { _ in message.dedupeKeys(secret: .random()) }
}
