import KiiPush

/// What waits in a durable inbox outside the places of its service: numbers and keys, no payloads.
///
/// A value without locks, as ``Lanes`` is. What waits of one lane keeps its order; among lanes it is read back in
/// turns. Of all that may wait, a group gets a quarter at most, and no more than half of what is free; a route no more
/// than what is free. So whoever waits first leaves room for others, whatever their number.
struct Spill {
    /// A payload that waits.
    struct Item: Sendable {
        let number: UInt64
        let keys: ShareKeys
        let bytes: Int
        let receipt: Receipt
        /// As the walk's.
        let killed: (isWhole: Bool, routes: [String])
        /// When it was made, of a change of an object, which a newer one may replace; nil for any other.
        let changedAt: Int64?
    }

    /// What became of a payload that should wait.
    enum Answer {
        /// It waits, in the place of these.
        case waits(replaced: [Item])
        /// A newer change of its object waits, in the place of it and of these.
        case superseded(replaced: [Item])
        /// There is no room for it.
        case refused
    }

    private struct Queue {
        var items = ShortQueue<Item>()
        /// How many are being read.
        var reading = 0
        var isListed = false
    }

    private let most: Use
    private let mostOfGroup: Use
    private var queues: [LaneKey: Queue] = [:]
    private var turns = Turns()
    private var groups: [ResourceKey: Use] = [:]
    private var routes: [ResourceKey: Use] = [:]
    /// All that wait, but for those that are being read.
    private(set) var used = Use()

    init(_ settings: ServiceSettings) {
        most = Use(messages: settings.messagesOnDisk, bytes: settings.bytesOnDisk)
        mostOfGroup = Use(messages: settings.messagesOnDiskPerKey, bytes: settings.bytesOnDiskPerKey)
    }

    var isEmpty: Bool { used.messages == 0 }

    /// Whether messages of a lane or a group wait, so that later ones must wait behind them: those of a lane for its
    /// order, those of a group since they would take the places that the others wait for.
    func holds(_ keys: ShareKeys) -> Bool {
        !queues.isEmpty && (queues[keys.lane] != nil || groups[keys.group] != nil)
    }

    // MARK: Waiting

    /// Adds a payload behind those of its lane, within the bounds.
    ///
    /// Beyond them, the newest change of an object takes the place of all older ones that wait.
    mutating func append(_ item: Item) -> Answer {
        if hasRoom(item) {
            add(item)
            return .waits(replaced: [])
        }
        guard let changedAt = item.changedAt else { return .refused }
        var hasNewer = false
        let replaced =
            queues[item.keys.lane]?.items.removeAll { other in
                guard let time = other.changedAt, other.keys.route == item.keys.route else { return false }
                if time > changedAt { hasNewer = true }
                return time <= changedAt
            } ?? []
        for item in replaced { forget(item) }
        if hasNewer { return .superseded(replaced: replaced) }
        guard !replaced.isEmpty else { return .refused }
        add(item)
        return .waits(replaced: replaced)
    }

    /// Adds a payload behind those of its lane, whatever there is: what an earlier process left is there already.
    mutating func add(_ item: Item) {
        used += item.bytes
        groups[item.keys.group, default: Use()] += item.bytes
        routes[item.keys.route, default: Use()] += item.bytes
        queues[item.keys.lane, default: Queue()].items.append(item)
        list(item.keys.lane)
    }

    /// A key that has much gets less of what is left, so that there is always some left for another key.
    private func hasRoom(_ item: Item) -> Bool {
        let free = Use(messages: most.messages - used.messages, bytes: most.bytes - used.bytes)
        guard free.messages > 0, item.bytes <= free.bytes else { return false }
        let (group, route) = (groups[item.keys.group] ?? Use(), routes[item.keys.route] ?? Use())
        return group.messages < mostOfGroup.messages && group.bytes + item.bytes <= mostOfGroup.bytes
            && group.messages < free.messages / 2 + free.messages % 2 && group.bytes < free.bytes / 2 + free.bytes % 2
            && route.messages < free.messages && route.bytes < free.bytes
    }

    private mutating func forget(_ item: Item) {
        used -= item.bytes
        groups.lower(item.keys.group, item.bytes)
        routes.lower(item.keys.route, item.bytes)
    }

    private mutating func list(_ lane: LaneKey) {
        guard let queue = queues[lane], !queue.isListed, let first = queue.items.first else { return }
        queues[lane]?.isListed = true
        turns.append(lane, first.keys)
    }

    // MARK: Reading

    /// Takes out what is to be read back now, at most 64 payloads or a mebibyte, and gives it places.
    mutating func take(_ places: inout Places) -> [Item] {
        guard !isEmpty else { return [] }
        places.startFilling()
        var (items, bytes) = ([Item](), 0)
        while items.count < 64, bytes < 1 << 20, places.isOpen, let lane = turns.next(&places) {
            queues[lane]?.isListed = false
            guard let item = queues[lane]?.items.popFirst() else {
                drop(lane)
                continue
            }
            queues[lane]?.reading += 1
            forget(item)
            places.enter(item.keys, item.bytes)
            items.append(item)
            bytes += item.bytes
            list(lane)
        }
        return items
    }

    /// Takes down that payloads have been read, and are in their lanes.
    mutating func haveRead(_ items: [Item]) {
        for item in items {
            queues[item.keys.lane]?.reading -= 1
            drop(item.keys.lane)
        }
    }

    /// Puts back what could not be read, before the others of its lanes.
    mutating func putBack(_ items: [Item], _ places: inout Places) {
        for item in items.reversed() {
            places.leave(item.keys, item.bytes)
            used += item.bytes
            groups[item.keys.group, default: Use()] += item.bytes
            routes[item.keys.route, default: Use()] += item.bytes
            queues[item.keys.lane]?.reading -= 1
            queues[item.keys.lane]?.items.putFirst([item])
            list(item.keys.lane)
        }
    }

    /// Takes all out, in no order.
    mutating func removeAll() -> [Item] {
        let all = queues.values.flatMap { queue in
            var items = queue.items
            return items.removeAll()
        }
        (queues, turns, groups, routes, used) = ([:], Turns(), [:], [:], Use())
        return all
    }

    /// Forgets a lane of which nothing waits any more.
    private mutating func drop(_ lane: LaneKey) {
        guard let queue = queues[lane], queue.items.isEmpty, queue.reading == 0, !queue.isListed else { return }
        queues[lane] = nil
    }
}

extension Spill.Item {
    /// What stays in memory of a delivery without a place.
    init(_ delivery: Delivery) {
        let (ticket, walk) = (delivery.ticket, delivery.walk)
        let message = walk.message.message
        // One that was tried has handlers that are done with it.
        let isChange = message.storage.classified.hasObject && walk.attempts == 0
        self.init(
            number: ticket.number, keys: ticket.keys, bytes: ticket.bytes, receipt: ticket.receipt,
            killed: walk.killed, changedAt: isChange ? message.sentAt ?? message.modifiedAt : nil)
    }
}
