import KiiPush

/// The waiting deliveries, in their lanes, each lane in order.
///
/// A value without locks or time: the service keeps it behind its own lock. A lane exists as long as it has a delivery
/// that waits, is being handled, or blocks the others; so there are never more lanes than deliveries. ``Turns`` decides
/// which ready lane is next, and ``Running`` that no route or group gets all workers.
struct Lanes {
    private struct Lane {
        /// Those before `head` have been removed.
        var deliveries: [Delivery] = []
        var head = 0
        /// Whether one of its deliveries is being handled, or is tried again before the others.
        var isBusy = false
        /// Whether its key is in `ready`, so that it is never there twice.
        var isListed = false

        var isEmpty: Bool { head == deliveries.count }
        var first: Delivery? { isEmpty ? nil : deliveries[head] }
        var isReady: Bool { !isBusy && !isEmpty }
        /// Whether it can be forgotten.
        var isIdle: Bool { !isBusy && isEmpty && !isListed }

        mutating func popFirst() -> Delivery {
            defer {
                head += 1
                // Removed when they are half of all, so that taking one costs the same however many wait.
                if head * 2 >= deliveries.count {
                    deliveries.removeFirst(head)
                    head = 0
                }
            }
            return deliveries[head]
        }

        mutating func putFirst(_ delivery: Delivery) {
            if head > 0 {
                head -= 1
                deliveries[head] = delivery
            } else {
                deliveries.insert(delivery, at: 0)
            }
        }
    }

    private var lanes: [LaneKey: Lane] = [:]
    /// The lanes that are ready; some may no longer be.
    private var ready = Turns()
    /// How many of each route and group are being handled.
    private var running = Running(most: 1)
    /// How many deliveries wait.
    private(set) var count = 0

    /// The number of lanes.
    var laneCount: Int { lanes.count }

    /// Adds a delivery behind those of its lane.
    mutating func append(_ delivery: Delivery) {
        change(delivery.ticket.lane) { $0.deliveries.append(delivery) }
        count += 1
    }

    /// Adds a delivery before those of its lane, and unblocks the lane if it waited for this one.
    mutating func putFirst(_ delivery: Delivery) {
        let isBlocked = delivery.hasLane
        var delivery = delivery
        delivery.hasLane = false
        change(delivery.ticket.lane) { lane in
            lane.putFirst(delivery)
            if isBlocked { lane.isBusy = false }
        }
        count += 1
    }

    /// Unblocks the delivery's lane, if it waits for it.
    mutating func release(_ delivery: inout Delivery) {
        guard delivery.hasLane else { return }
        delivery.hasLane = false
        change(delivery.ticket.lane) { $0.isBusy = false }
    }

    /// Takes the delivery whose turn it is, if fewer than `most` run; its lane is busy until it is released, and it
    /// counts as running.
    mutating func next(among most: Int) -> Delivery? {
        running.most = most
        while let key = ready.next(&running) {
            guard let index = lanes.index(forKey: key) else { continue }
            lanes.values[index].isListed = false
            guard lanes.values[index].isReady, let first = lanes.values[index].first else {
                if lanes.values[index].isIdle { lanes.remove(at: index) }
                continue
            }
            // The first delivery has changed since the lane was listed, and has other keys.
            guard running.mayTake(first.ticket.keys) else {
                lanes.values[index].isListed = true
                ready.append(key, first.ticket.keys)
                continue
            }
            lanes.values[index].isBusy = true
            return begin(lanes.values[index].popFirst())
        }
        return nil
    }

    /// Takes the next delivery of the lane after one has ended, unless the next one must run alone.
    mutating func next(behind delivery: inout Delivery, among most: Int) -> Delivery? {
        running.most = most
        guard delivery.hasLane, let index = lanes.index(forKey: delivery.ticket.lane),
            let next = lanes.values[index].first, !next.isSuspect, running.mayTake(next.ticket.keys)
        else { return nil }
        delivery.hasLane = false
        return begin(lanes.values[index].popFirst())
    }

    private mutating func begin(_ delivery: Delivery) -> Delivery {
        var delivery = delivery
        delivery.hasLane = true
        count -= 1
        running.begin(delivery.ticket.keys)
        return delivery
    }

    /// Records that a delivery is no longer being handled.
    mutating func leaveOff(_ keys: ShareKeys) { running.end(keys) }

    /// Removes the deliveries of a lane that meet a condition.
    mutating func remove(from key: LaneKey, where condition: (Delivery) -> Bool) -> [Delivery] {
        guard let index = lanes.index(forKey: key) else { return [] }
        let waiting = lanes.values[index].deliveries.dropFirst(lanes.values[index].head)
        var (removed, kept) = ([Delivery](), [Delivery]())
        for delivery in waiting {
            if condition(delivery) { removed.append(delivery) } else { kept.append(delivery) }
        }
        guard !removed.isEmpty else { return [] }
        change(key) { lane in (lane.deliveries, lane.head) = (kept, 0) }
        count -= removed.count
        return removed
    }

    /// Removes all deliveries, in no order.
    mutating func removeAll() -> [Delivery] {
        let all = lanes.values.flatMap { $0.deliveries.dropFirst($0.head) }
        self = Lanes()
        return all
    }

    private mutating func change(_ key: LaneKey, _ body: (inout Lane) -> Void) {
        var toList: ShareKeys?
        let isIdle = {
            (lane: inout Lane) in
            body(&lane)
            if lane.isReady, !lane.isListed, let first = lane.first {
                toList = first.ticket.keys
                lane.isListed = true
            }
            return lane.isIdle
        }(&lanes[key, default: Lane()])
        if let toList { ready.append(key, toList) }
        if isIdle { lanes[key] = nil }
    }
}
