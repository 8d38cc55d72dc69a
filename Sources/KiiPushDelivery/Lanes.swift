import KiiPush
import Synchronization

/// The parcels that wait, each behind those of its lane that came before.
///
/// A value without locks or time: the service keeps it behind its own lock. A lane is there as long as it has a parcel
/// that waits, is being handled, or holds the others up; so there are never more lanes than parcels. Lanes with a parcel to
/// be handled have their turn as ``Turns`` says, and no route or group gets all workers, as ``Running`` says.
struct Lanes {
    private struct Lane {
        /// Those before `head` have been taken.
        var parcels: [Parcel] = []
        var head = 0
        /// How many of the first ones the loop guard has let go: behind them new ones wait.
        var released = 0
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
                if released > 0 { released -= 1 }
                // What was taken goes when it is half of all, so that taking one costs the same however many wait.
                if head * 2 >= parcels.count {
                    parcels.removeFirst(head)
                    head = 0
                }
            }
            return parcels[head]
        }

        /// Adds a parcel that was let go, behind those that were before it.
        mutating func putReleased(_ parcel: Parcel) {
            parcels.insert(parcel, at: head + released)
            released += 1
        }

        mutating func putFirst(_ parcel: Parcel) {
            if released > 0 { released += 1 }
            if head > 0 {
                head -= 1
                parcels[head] = parcel
            } else {
                parcels.insert(parcel, at: 0)
            }
        }
    }

    private var lanes: [LaneKey: Lane] = [:]
    /// The lanes that have a parcel to be handled; some may have none any more.
    private var ready = Turns()
    /// What is being handled of each route and group.
    private var running: Running
    private let concurrency: Int
    /// How many parcels wait.
    private(set) var count = 0

    /// No parcels, for a service that handles so many at once.
    init(concurrency: Int) {
        self.concurrency = concurrency
        running = Running(concurrency: concurrency)
    }

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

    /// Adds a parcel that the loop guard has let go: before those of its lane, behind those that were let go before it.
    mutating func putReleased(_ parcel: Parcel) {
        change(parcel.lane) { $0.putReleased(parcel) }
        count += 1
    }

    /// Lets the parcel's lane go on, if that waits for it.
    mutating func release(_ parcel: Parcel) {
        guard parcel.hasLane.exchange(false, ordering: .relaxed) else { return }
        change(parcel.lane) { $0.isBusy = false }
    }

    /// Takes the parcel whose turn it is; its lane is busy until it is released, and it counts as running.
    mutating func next() -> Parcel? {
        while let key = ready.next(&running) {
            guard let index = lanes.index(forKey: key) else { continue }
            lanes.values[index].isListed = false
            guard lanes.values[index].isReady, let first = lanes.values[index].first else {
                if lanes.values[index].isIdle { lanes.remove(at: index) }
                continue
            }
            // Another one is the first since the lane was listed, and is of other keys.
            guard running.mayTake(first.keys) else {
                lanes.values[index].isListed = true
                ready.append(key, first.keys)
                continue
            }
            lanes.values[index].isBusy = true
            return begin(lanes.values[index].popFirst())
        }
        return nil
    }

    /// Takes the parcel behind one that has ended, and has the lane from it; not one that must be alone.
    mutating func next(behind parcel: Parcel) -> Parcel? {
        guard parcel.hasLane.load(ordering: .relaxed), let index = lanes.index(forKey: parcel.lane),
            let next = lanes.values[index].first, !next.wasInFlightAtCrash, running.mayTake(next.keys)
        else { return nil }
        parcel.hasLane.store(false, ordering: .relaxed)
        return begin(lanes.values[index].popFirst())
    }

    private mutating func begin(_ parcel: Parcel) -> Parcel {
        parcel.hasLane.store(true, ordering: .relaxed)
        count -= 1
        running.begin(parcel.keys)
        return parcel
    }

    /// Takes down that a parcel is not being handled any more.
    mutating func leaveOff(_ parcel: Parcel) { running.end(parcel.keys) }

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
        self = Lanes(concurrency: concurrency)
        return all
    }

    private mutating func change(_ key: LaneKey, _ body: (inout Lane) -> Void) {
        var toList: ShareKeys?
        let isIdle = {
            (lane: inout Lane) in
            body(&lane)
            if lane.isReady, !lane.isListed, let first = lane.first {
                toList = first.keys
                lane.isListed = true
            }
            return lane.isIdle
        }(&lanes[key, default: Lane()])
        if let toList { ready.append(key, toList) }
        if isIdle { lanes[key] = nil }
    }
}
