/// A queue of future events by millisecond; events of the same millisecond keep their order of insertion.
///
/// A list for each millisecond: twenty million pending deliveries have a few thousand of them.
struct EventQueue<Item> {
    private var lists: [Int64: [Item]] = [:]
    /// The milliseconds with an event, the next one last.
    private var times: [Int64] = []

    /// The next millisecond with an event.
    var nextTime: Int64? { times.last }

    mutating func add(_ item: Item, at time: Int64) {
        guard lists[time]?.append(item) == nil else { return }
        lists[time] = [item]
        var (low, high) = (0, times.count)
        while low < high {
            let middle = (low + high) / 2
            if times[middle] > time { low = middle + 1 } else { high = middle }
        }
        times.insert(time, at: low)
    }

    /// Removes and returns all events of the next millisecond.
    mutating func popList() -> [Item] { times.popLast().flatMap { lists.removeValue(forKey: $0) } ?? [] }
}
