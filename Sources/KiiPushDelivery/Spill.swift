import KiiPush

/// The payloads that wait in a durable inbox without a place in memory, as numbers and keys.
///
/// A value without locks, like ``Lanes``. Each lane keeps its order; lanes are read back in turns. A group may use a
/// quarter of the capacity at most, and no more than half of the free capacity; a route no more than the free capacity.
/// So the first ones always leave capacity for others, whatever their number.
struct Spill {
    /// A waiting payload.
    struct Item: Sendable {
        let number: UInt64
        let keys: ShareKeys
        let bytes: Int
        let receipt: Receipt
        /// The same as in the ``Delivery``.
        let killed: (isWhole: Bool, routes: [String])
        /// The time of a change of an object, which a newer one may replace; nil for any other message.
        let changedAt: Int64?
    }

    /// The result of adding a payload.
    enum Answer {
        /// It waits, and replaces these.
        case waits(replaced: [Item])
        /// A newer change of its object waits, and replaces it and these.
        case superseded(replaced: [Item])
        /// There is no capacity for it.
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
    /// All waiting payloads, except those that are being read.
    private(set) var used = Use()

    init(_ settings: ServiceSettings) {
        most = Use(messages: settings.messagesOnDisk, bytes: settings.bytesOnDisk)
        mostOfGroup = Use(messages: settings.messagesOnDiskPerKey, bytes: settings.bytesOnDiskPerKey)
    }

    var isEmpty: Bool { used.messages == 0 }

    /// Whether messages of the same lane or group wait, so that later ones must wait behind them: in a lane for its
    /// order, in a group because they would take the places that the others wait for.
    func holds(_ keys: ShareKeys) -> Bool {
        !queues.isEmpty && (queues[keys.lane] != nil || groups[keys.group] != nil)
    }

    // MARK: Waiting

    /// Adds a payload behind those of its lane, within the bounds.
    ///
    /// Beyond the bounds, the newest change of an object replaces all older ones that wait.
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

    /// Adds a payload behind those of its lane, whatever the bounds; payloads of an earlier process are stored already.
    mutating func add(_ item: Item) {
        used += item.bytes
        groups[item.keys.group, default: Use()] += item.bytes
        routes[item.keys.route, default: Use()] += item.bytes
        queues[item.keys.lane, default: Queue()].items.append(item)
        list(item.keys.lane)
    }

    /// A key that uses much gets less of the free capacity, so that some is always left for other keys.
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

    /// Takes the payloads to be read back now, at most 64 or a mebibyte, and gives them places.
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

    /// Records that payloads have been read, and are in their lanes.
    mutating func haveRead(_ items: [Item]) {
        for item in items {
            queues[item.keys.lane]?.reading -= 1
            drop(item.keys.lane)
        }
    }

    /// Puts back payloads that could not be read, before the others of their lanes.
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

    /// Removes all, in no order.
    mutating func removeAll() -> [Item] {
        let all = queues.values.flatMap { queue in
            var items = queue.items
            return items.removeAll()
        }
        (queues, turns, groups, routes, used) = ([:], Turns(), [:], [:], Use())
        return all
    }

    /// Forgets a lane without waiting payloads.
    private mutating func drop(_ lane: LaneKey) {
        guard let queue = queues[lane], queue.items.isEmpty, queue.reading == 0, !queue.isListed else { return }
        queues[lane] = nil
    }
}

extension Spill.Item {
    /// The part of a delivery that stays in memory without a place.
    init(_ delivery: Delivery) {
        let ticket = delivery.ticket
        let message = delivery.message.message
        // Some handlers may have handled a message that was tried.
        let isChange = message.storage.classified.hasObject && delivery.incoming.attempts == 0
        self.init(
            number: ticket.number, keys: ticket.keys, bytes: ticket.bytes, receipt: ticket.receipt,
            killed: delivery.killed, changedAt: isChange ? message.sentAt ?? message.modifiedAt : nil)
    }
}
