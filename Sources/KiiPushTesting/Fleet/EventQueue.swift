/// A queue of future events by millisecond; events of the same millisecond keep their order of insertion.
///
/// A list for each millisecond and a heap of the milliseconds: twenty million pending deliveries cost a few thousand
/// heap operations.
struct EventQueue<Item> {
    private var lists: [Int64: [Item]] = [:]
    private var times: [Int64] = []

    /// The next millisecond with an event.
    var nextTime: Int64? { times.first }

    mutating func add(_ item: Item, at time: Int64) {
        if lists[time]?.append(item) == nil {
            lists[time] = [item]
            insert(time)
        }
    }

    /// Removes and returns all events of the next millisecond.
    mutating func popList() -> [Item] {
        guard let time = removeFirstTime() else { return [] }
        return lists.removeValue(forKey: time) ?? []
    }

    private mutating func insert(_ time: Int64) {
        times.append(time)
        var child = times.count - 1
        while child > 0, times[(child - 1) / 2] > times[child] {
            times.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    private mutating func removeFirstTime() -> Int64? {
        guard let first = times.first, let last = times.popLast() else { return nil }
        guard !times.isEmpty else { return first }
        times[0] = last
        var parent = 0
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < times.count && times[child] < times[least] {
                least = child
            }
            guard least != parent else { return first }
            times.swapAt(parent, least)
            parent = least
        }
    }
}
