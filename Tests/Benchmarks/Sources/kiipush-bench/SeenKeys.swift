import CAllocationCounter
import KiiPush

/// Fills a store three times with the same keys, and says what that costs.
///
/// A pause of the store's own comes at the same message each time, one of the machine's does not; so the longest pause
/// is the longest over all messages of the shortest over the three.
func measureSeenKeys(_ count: Int) throws -> String {
    let keys = try distinctKeys(0..<count)
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
        try check(
            store.begin(keys[0], now: now) == .done && store.counts?.strong.evictedEarly == 0, "every key remembered")
        let times = try timeAfterwards(store, keys, now)
        best = (min(best.begin, times.begin), min(best.commit, times.commit))
    }
    return "a store full of \(count) messages: \(decimal(Double(bytes) / 1e6, 1)) MB, "
        + "begin \(decimal(best.begin, 1)) ns, commit \(decimal(best.commit, 1)) ns, "
        + "longest pause while it fills \(decimal(Double(pauses.max() ?? 0) / 1000, 1)) µs"
}

/// Begins and commits new messages in a store that is full, so that each one forgets another; 64 are in flight.
private func timeAfterwards(
    _ store: InMemorySeenStore, _ keys: [DedupeKeys], _ now: MonotonicInstant
) throws -> (begin: Double, commit: Double) {
    let more = try distinctKeys(keys.count..<(keys.count + 64_000))
    var (begin, commit) = (Duration.zero, Duration.zero)
    var leases: [SeenLease] = []
    leases.reserveCapacity(64)
    for batch in 0..<1000 {
        let start = ContinuousClock.now
        for number in 0..<64 {
            if case .fresh(let lease) = store.begin(more[batch * 64 + number], now: now) { leases.append(lease) }
        }
        let middle = ContinuousClock.now
        for lease in leases { store.commit(lease, now: now) }
        begin += start.duration(to: middle)
        commit += middle.duration(to: .now)
        try check(leases.count == 64, "new messages admitted by a full store")
        leases.removeAll(keepingCapacity: true)
    }
    return (begin.nanoseconds / Double(more.count), commit.nanoseconds / Double(more.count))
}

/// Keys as random as a deduplicator's: one message's, each under a secret of its own.
private func distinctKeys(_ numbers: Range<Int>) throws -> [DedupeKeys] {
    var source = Payloads()
    let message = try PushMessage(source.next(1)[0])
    return numbers.map { message.dedupeKeys(secret: DedupeSecret(UInt64($0), 3)) }
}
