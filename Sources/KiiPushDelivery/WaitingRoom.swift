import KiiPush

/// Where messages wait: for their turn, or until a time.
///
/// Each ordering key has a lane, a queue whose messages are handled one after another. Its head is whole messages.
/// When memory has no room for more, those behind are numbers in the durable inbox, and are read when their turn comes.
/// Lanes take turns (``Turns``); those whose first message must be read have every other turn of their own, so that a
/// full memory stops only these. What cannot end yet waits in ``later`` until a time, and mostly its lane with it.
/// There are never more lanes than messages that wait or are being handled.
struct WaitingRoom {
    /// What a lane needs for its turn, by its first message.
    private enum Need: Int, CaseIterable {
        /// It runs alone.
        case alone
        case nothing
        /// It must be read.
        case memory
    }

    private struct Lane {
        var head = ShortQueue<Delivery>()
        var tail = ShortQueue<Unread>()
        /// Whether one of its messages is being handled, or is tried again before the others.
        var isBusy = false
        var isReading = false
        /// The turns that it waits for, by the number of the need; it may no longer need one of them.
        var listed: InlineArray<3, Bool> = [false, false, false]

        /// What it needs; nil if it is not ready.
        var next: (need: Need, keys: ShareKeys)? {
            if isBusy { return nil }
            if let first = head.first { return (first.isSuspect ? .alone : .nothing, first.ticket.keys) }
            return tail.first.map { (.memory, $0.keys) }
        }

        /// Whether it can be forgotten.
        var isIdle: Bool { !isBusy && head.isEmpty && tail.isEmpty && !listed[0] && !listed[1] && !listed[2] }
    }

    /// The capacity of the memory, and that of the durable inbox for messages that are not in memory.
    private(set) var memory: Capacity
    private(set) var disk: Capacity
    let isDurable: Bool
    private var lanes: [LaneKey: Lane] = [:]
    private var turns = [Turns](repeating: Turns(), count: Need.allCases.count)
    private var running = Running(most: 1)
    private var isUnreadNext = false
    /// Whether unread messages have turns: not after the inbox could not be read, until a pause is over.
    var mayRead = true
    /// How many messages in memory wait for their turn.
    private(set) var count = 0
    /// The messages that wait until a time, the next one first.
    private(set) var later: [(due: MonotonicInstant, delivery: Delivery)] = []

    init(_ settings: ServiceSettings, isDurable: Bool) {
        memory = Capacity(messages: max(settings.messages, 1), bytes: max(settings.bytes, 1))
        disk = Capacity(messages: settings.messagesOnDisk, bytes: settings.bytesOnDisk)
        self.isDurable = isDurable
    }

    var laneCount: Int { lanes.count }

    // MARK: Coming in

    /// Where a message waits.
    enum Place {
        case memory
        /// In the inbox; these end, as newer changes of their objects replace them. It may be among them itself.
        case disk(replaced: [Unread])
        /// Nowhere: there is no capacity for it.
        case none
    }

    /// Adds a message behind those of its lane: in memory, or in the inbox if memory has no room, or if messages of its
    /// lane, or ready ones of its group, wait there already.
    ///
    /// One that `isOld` was accepted by an earlier process, so the inbox has it whatever the bound.
    mutating func append(_ delivery: Delivery, isOld: Bool = false) -> Place {
        let ticket = delivery.ticket
        if isDurable {
            guard hasRoom(for: ticket) else { return append(Unread(delivery), isOld: isOld) }
            memory.add(ticket.use, ticket.keys, ticket.lane)
        }
        admit(delivery)
        list(ticket.lane)
        return .memory
    }

    private func hasRoom(for ticket: Ticket) -> Bool {
        if let index = lanes.index(forKey: ticket.lane),
            lanes.values[index].isReading || !lanes.values[index].tail.isEmpty
        {
            return false
        }
        return memory.hasRoom(ticket.use, ticket.keys, ticket.lane) && !turns[Need.memory.rawValue].holds(ticket.keys)
    }

    /// Adds a message that memory has room for.
    private mutating func admit(_ delivery: Delivery) {
        var delivery = delivery
        delivery.hasPlace = true
        lanes[delivery.ticket.lane, default: Lane()].head.append(delivery)
        count += 1
    }

    /// Adds a message that is not in memory; beyond the bound, the newest change of an object replaces older ones.
    private mutating func append(_ item: Unread, isOld: Bool) -> Place {
        var replaced: [Unread] = []
        if !isOld, !disk.hasRoom(item.use, item.keys) {
            guard let changedAt = item.changedAt else { return .none }
            var hasNewer = false
            replaced =
                lanes[item.lane]?.tail.removeAll { other in
                    guard let time = other.changedAt, other.keys.route == item.keys.route else { return false }
                    if time > changedAt { hasNewer = true }
                    return time <= changedAt
                } ?? []
            for other in replaced { disk.add(-other.use, other.keys) }
            if hasNewer { return .disk(replaced: replaced + [item]) }
            if replaced.isEmpty { return .none }
        }
        disk.add(item.use, item.keys)
        lanes[item.lane, default: Lane()].tail.append(item)
        list(item.lane)
        return .disk(replaced: replaced)
    }

    /// Adds messages that were in flight when the process ended; they run alone, and before all others.
    mutating func putFirst(suspects: [Delivery]) {
        for var suspect in suspects.reversed() {
            memory.add(suspect.ticket.use, suspect.ticket.keys, suspect.ticket.lane)
            suspect.hasPlace = true
            lanes[suspect.ticket.lane, default: Lane()].head.putFirst([suspect])
        }
        count += suspects.count
        for suspect in suspects { list(suspect.ticket.lane) }
    }

    /// Adds a message before those of its lane, and unblocks the lane if it waited for this one.
    mutating func putFirst(_ delivery: Delivery) {
        var delivery = delivery
        release(&delivery)
        lanes[delivery.ticket.lane, default: Lane()].head.putFirst([delivery])
        count += 1
        list(delivery.ticket.lane)
    }

    /// Reserves memory for messages of a transport, or of none, that are not decoded yet, or frees it.
    mutating func reserve(_ use: Use, _ transport: Int?) { memory.add(use, transport: transport) }

    // MARK: Turns

    /// A lane has its turn: its first message begins.
    enum Turn: Sendable {
        case whole(Delivery)
        /// First these must be read, and those of other lanes that are read with it.
        case unread([Unread])

        var keys: ShareKeys {
            switch self {
            case .whole(let delivery): delivery.ticket.keys
            case .unread(let items): items[0].keys
            }
        }

        var isSuspect: Bool { if case .whole(let delivery) = self { delivery.isSuspect } else { false } }
    }

    /// Whether a message waits that must run alone; then no other begins.
    var hasSuspect: Bool { !turns[Need.alone.rawValue].isEmpty }

    /// Begins a message that must run alone.
    mutating func nextSuspect() -> Turn? { nextWhole(.alone) }

    /// Begins the message whose turn it is, if fewer than `most` run; its lane is busy until it is released.
    mutating func next(among most: Int) -> Turn? {
        running.most = most
        let wasUnreadNext = isUnreadNext
        isUnreadNext.toggle()
        return wasUnreadNext ? nextUnread() ?? nextWhole(.nothing) : nextWhole(.nothing) ?? nextUnread()
    }

    private mutating func nextWhole(_ need: Need) -> Turn? {
        guard let index = nextLane(need, { [running] in running.mayTake($0) }), let first = takeFirst(index)
        else { return nil }
        running.begin(first.ticket.keys)
        return .whole(first)
    }

    private mutating func takeFirst(_ index: Dictionary<LaneKey, Lane>.Index) -> Delivery? {
        guard var first = lanes.values[index].head.popFirst() else { return nil }
        first.hasLane = true
        count -= 1
        return first
    }

    /// Records that what began in a turn is no longer being handled.
    mutating func leaveOff(_ turn: Turn) { running.end(turn.keys) }

    /// Takes the lane whose turn it is among those of a need; it is busy from now on.
    private mutating func nextLane(
        _ need: Need, _ mayTake: (Capacity.Sharer) -> Bool
    ) -> Dictionary<LaneKey, Lane>.Index? {
        while let key = turns[need.rawValue].next(mayTake) {
            guard let index = lanes.index(forKey: key) else { continue }
            lanes.values[index].listed[need.rawValue] = false
            // Its first message may be another one since the lane was listed.
            if let next = lanes.values[index].next, next.need == need, mayTake(.route(next.keys.route)),
                mayTake(.group(next.keys.group))
            {
                lanes.values[index].isBusy = true
                return index
            }
            list(key)
        }
        return nil
    }

    /// Lists a lane that is ready for its turn, and forgets an empty one.
    private mutating func list(_ key: LaneKey) {
        guard let index = lanes.index(forKey: key) else { return }
        if let (need, keys) = lanes.values[index].next {
            if lanes.values[index].listed[need.rawValue] { return }
            lanes.values[index].listed[need.rawValue] = true
            turns[need.rawValue].append(key, keys)
        } else if lanes.values[index].isIdle {
            lanes.remove(at: index)
        }
    }

    // MARK: Reading

    /// How many messages are read at once, and how many of one lane while others wait to be read.
    private static let (mostRead, mostOfLane) = (64, 4)

    /// Takes messages to read: of the first lane whose route and group use little memory, then of others while there is
    /// room.
    private mutating func nextUnread() -> Turn? {
        guard mayRead, memory.isOpen, !turns[Need.memory.rawValue].isEmpty,
            let first = nextLane(
                .memory, { [running, memory] in running.mayTake($0) && memory.isOpen($0, isLow: true) })
        else { return nil }
        let key = lanes.keys[first]
        var items: [Unread] = []
        take(key, Self.mostOfLane, &items)
        running.begin(items[0].keys)
        while items.count < Self.mostRead, memory.isOpen,
            let other = nextLane(.memory, { [memory] in memory.isOpen($0) })
        {
            take(lanes.keys[other], Self.mostOfLane, &items)
        }
        take(key, Self.mostRead, &items)
        return .unread(items)
    }

    /// Takes the first messages of a lane that are to be read; at least one, if none of the lane is.
    private mutating func take(_ key: LaneKey, _ most: Int, _ items: inout [Unread]) {
        guard let index = lanes.index(forKey: key) else { return }
        let end = min(items.count + most, Self.mostRead)
        while items.count < end, let item = lanes.values[index].tail.first,
            !lanes.values[index].isReading || memory.hasRoom(item.use, item.keys, item.lane)
        {
            lanes.values[index].isReading = true
            _ = lanes.values[index].tail.popFirst()
            disk.add(-item.use, item.keys)
            memory.add(item.use, item.keys, item.lane)
            items.append(item)
        }
    }

    /// Puts those of `items` that were read into their lanes, and begins the first one of the lane whose turn it is;
    /// the others have left the inbox.
    mutating func haveRead(_ items: [Unread], _ deliveries: [Delivery]) -> Delivery? {
        for item in items { memory.add(-item.use, item.keys, item.lane) }
        for delivery in deliveries {
            memory.add(delivery.ticket.use, delivery.ticket.keys, delivery.ticket.lane)
            admit(delivery)
        }
        let lane = items[0].lane
        for item in items { endReading(item.lane, isBusy: item.lane == lane) }
        if let index = lanes.index(forKey: lane), lanes.values[index].head.first?.isSuspect == false {
            return takeFirst(index)
        }
        endReading(lane)
        return nil
    }

    /// Puts back messages that could not be read, before the others of their lanes.
    mutating func putBack(_ items: [Unread]) {
        for item in items.reversed() {
            memory.add(-item.use, item.keys, item.lane)
            disk.add(item.use, item.keys)
            lanes[item.lane]?.tail.putFirst([item])
        }
        for item in items { endReading(item.lane) }
    }

    private mutating func endReading(_ lane: LaneKey, isBusy: Bool = false) {
        lanes[lane]?.isReading = false
        lanes[lane]?.isBusy = isBusy
        list(lane)
    }

    /// Lets a message wait until it is due, after those that are due at the same time; its lane waits too if it
    /// `blocks`.
    mutating func putBack(_ delivery: Delivery, until due: MonotonicInstant, blocks: Bool) {
        var delivery = delivery
        if !blocks { release(&delivery) }
        let index = later.lastIndex { $0.due <= due }.map { $0 + 1 } ?? 0
        later.insert((due, delivery), at: index)
    }

    /// Puts messages that are due before the others of their lanes.
    mutating func wake(_ now: MonotonicInstant) {
        let due = later.prefix { $0.due <= now }
        // The last one first, so that those of one lane keep their order.
        for (_, delivery) in due.reversed() { putFirst(delivery) }
        later.removeFirst(due.count)
    }

    // MARK: Going

    /// Unblocks the lane of a message, if it waits for it.
    mutating func release(_ delivery: inout Delivery) {
        guard delivery.hasLane else { return }
        delivery.hasLane = false
        lanes[delivery.ticket.lane]?.isBusy = false
        list(delivery.ticket.lane)
    }

    /// Unblocks the lane of a message that waits no more, and frees its memory.
    mutating func leave(_ delivery: inout Delivery) {
        release(&delivery)
        guard delivery.hasPlace else { return }
        delivery.hasPlace = false
        let ticket = delivery.ticket
        if isDurable { memory.add(-ticket.use, ticket.keys, ticket.lane) } else { reserve(-ticket.use, ticket.intake) }
    }

    /// Removes the messages of a lane that are in memory and meet a condition, in order.
    mutating func remove(from key: LaneKey, where condition: (Delivery) -> Bool) -> [Delivery] {
        guard let removed = lanes[key]?.head.removeAll(where: condition), !removed.isEmpty else { return [] }
        count -= removed.count
        list(key)
        return removed
    }

    /// Removes all messages, in no order: those in memory, and those that are not.
    mutating func removeAll() -> (deliveries: [Delivery], unread: [Unread]) {
        var deliveries = later.map(\.delivery)
        var unread: [Unread] = []
        for var lane in lanes.values {
            deliveries += lane.head.removeAll { _ in true }
            unread += lane.tail.removeAll { _ in true }
        }
        for item in unread { disk.add(-item.use, item.keys) }
        (lanes, count, later) = ([:], 0, [])
        turns = [Turns](repeating: Turns(), count: Need.allCases.count)
        return (deliveries, unread)
    }
}

/// A message that waits as its number in the durable inbox.
struct Unread: Sendable {
    let number: UInt64
    let lane: LaneKey
    let keys: ShareKeys
    let use: Use
    let receipt: Receipt
    /// The same as in the ``Delivery``.
    let killed: (isWhole: Bool, routes: [String])
    /// The time of a change of an object in its lane, which a newer one may replace; nil for any other message.
    let changedAt: Int64?

    /// The part of a delivery that stays in memory.
    init(_ delivery: Delivery) {
        let (ticket, message) = (delivery.ticket, delivery.message.message)
        (number, lane, keys, use) = (ticket.number, ticket.lane, ticket.keys, ticket.use)
        (receipt, killed) = (ticket.receipt, delivery.killed)
        // Some handlers may have handled a message that was tried; a lane that is not its object's has other objects.
        let isChange =
            message.storage.classified.hasObject && delivery.incoming.attempts == 0
            && ResourceKey(ofItsObject: message).map { .place($0) } == lane
        changedAt = isChange ? message.sentAt ?? message.modifiedAt : nil
    }
}
