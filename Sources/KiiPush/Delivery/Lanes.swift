import Synchronization

/// The parcels that wait, each behind those of its lane that came before.
///
/// A value without locks or time: the service keeps it behind its own lock. A lane is there as long as it has a parcel
/// that waits, is being handled, or holds the others up; so there are never more lanes than parcels.
struct Lanes {
    private struct Lane {
        /// Those before `head` have been taken.
        var parcels: [Parcel] = []
        var head = 0
        /// Whether one of its parcels is being handled, or is tried again before all others may go on.
        var isBusy = false
        /// Whether its key stands among those that are ready, so that it never stands there twice.
        var isListed = false

        var isEmpty: Bool { head == parcels.count }
        var first: Parcel? { isEmpty ? nil : parcels[head] }
        var isReady: Bool { !isBusy && !isEmpty }
        /// Whether nothing would be lost if it were forgotten.
        var isIdle: Bool { !isBusy && isEmpty && !isListed }

        mutating func popFirst() -> Parcel {
            defer {
                head += 1
                // What was taken goes when it is half of all, so that taking one costs the same however many wait.
                if head * 2 >= parcels.count {
                    parcels.removeFirst(head)
                    head = 0
                }
            }
            return parcels[head]
        }

        mutating func putFirst(_ parcel: Parcel) {
            if head > 0 {
                head -= 1
                parcels[head] = parcel
            } else {
                parcels.insert(parcel, at: 0)
            }
        }
    }

    private var lanes: [LaneKey: Lane] = [:]
    /// The lanes that have a parcel to be handled, in the order in which they got it; some may have none any more.
    private var ready = ChunkedQueue<LaneKey>()
    /// How many parcels wait.
    private(set) var count = 0

    /// How many lanes there are.
    var laneCount: Int { lanes.count }

    /// Adds a parcel behind those of its lane.
    mutating func append(_ parcel: Parcel) {
        change(parcel.lane) { $0.parcels.append(parcel) }
        count += 1
    }

    /// Adds a parcel before those of its lane, and lets the lane go on where it waited for this one.
    mutating func putFirst(_ parcel: Parcel) {
        let isBlocked = parcel.hasLane.exchange(false, ordering: .relaxed)
        change(parcel.lane) { lane in
            lane.putFirst(parcel)
            if isBlocked { lane.isBusy = false }
        }
        count += 1
    }

    /// Lets the parcel's lane go on, if that waits for it.
    mutating func release(_ parcel: Parcel) {
        guard parcel.hasLane.exchange(false, ordering: .relaxed) else { return }
        change(parcel.lane) { $0.isBusy = false }
    }

    /// Takes the parcel whose turn it is; its lane is busy until it is released.
    mutating func next() -> Parcel? {
        while let key = ready.popFirst() {
            guard let index = lanes.index(forKey: key) else { continue }
            lanes.values[index].isListed = false
            guard lanes.values[index].isReady else {
                if lanes.values[index].isIdle { lanes.remove(at: index) }
                continue
            }
            lanes.values[index].isBusy = true
            count -= 1
            let parcel = lanes.values[index].popFirst()
            parcel.hasLane.store(true, ordering: .relaxed)
            return parcel
        }
        return nil
    }

    /// Takes the parcel behind one that has ended, and has the lane from it; not one that must be alone.
    mutating func next(behind parcel: Parcel) -> Parcel? {
        guard parcel.hasLane.load(ordering: .relaxed), let index = lanes.index(forKey: parcel.lane),
            let next = lanes.values[index].first, !next.isSuspect
        else { return nil }
        parcel.hasLane.store(false, ordering: .relaxed)
        next.hasLane.store(true, ordering: .relaxed)
        count -= 1
        return lanes.values[index].popFirst()
    }

    /// Takes the parcels out of a lane that `condition` holds for.
    mutating func remove(from key: LaneKey, where condition: (Parcel) -> Bool) -> [Parcel] {
        guard let index = lanes.index(forKey: key) else { return [] }
        let waiting = lanes.values[index].parcels.dropFirst(lanes.values[index].head)
        let removed = waiting.filter(condition)
        guard !removed.isEmpty else { return [] }
        let kept = waiting.filter { parcel in !removed.contains { $0 === parcel } }
        change(key) { lane in (lane.parcels, lane.head) = (kept, 0) }
        count -= removed.count
        return removed
    }

    /// Takes all parcels out, in no order.
    mutating func removeAll() -> [Parcel] {
        let all = lanes.values.flatMap { $0.parcels.dropFirst($0.head) }
        self = Lanes()
        return all
    }

    private mutating func change(_ key: LaneKey, _ body: (inout Lane) -> Void) {
        var mustList = false
        let isIdle = {
            (lane: inout Lane) in
            body(&lane)
            mustList = lane.isReady && !lane.isListed
            if mustList { lane.isListed = true }
            return lane.isIdle
        }(&lanes[key, default: Lane()])
        if mustList { ready.append(key) }
        if isIdle { lanes[key] = nil }
    }
}
