import KiiPush

/// Where messages wait: for their turn, or until a time.
///
/// Each ordering key has a lane, a queue whose messages are handled one after another. Its head is whole messages.
/// When memory has no room for more, those behind are numbers in the durable inbox, and are read when it has.
/// Lanes take turns (``Turns``) to be handled, and to be read. What was in flight at a crash waits in ``suspects``, and
/// runs alone before all others. What cannot end yet waits in ``later`` until a time, and mostly its lane with it.
/// There are never more lanes than messages that wait or are being handled.
struct WaitingRoom {
    /// What a lane takes turns for, by its first message.
    enum Need: Int, CaseIterable {
        case handling, reading
    }

    struct Lane {
        var head = ShortQueue<Delivery>()
        var tail = ShortQueue<Ticket>()
        /// Whether one of its messages is being handled, or is tried again before the others.
        var isBusy = false
        /// Whether the first ones of its tail are being read.
        var isReading = false
        /// The turns that it waits for, by the number of the need; it may no longer need one of them.
        var listed: InlineArray<2, Bool> = [false, false]

        /// What it needs; nil if it is not ready.
        var next: (need: Need, keys: ShareKeys)? {
            if isBusy { return nil }
            if let first = head.first { return (.handling, first.ticket.keys) }
            return isReading ? nil : tail.first.map { (.reading, $0.keys) }
        }

        /// Whether it can be forgotten, if it needs nothing.
        var isIdle: Bool { !isBusy && !isReading && !listed[0] && !listed[1] }
    }

    /// The capacity of the memory, and that of the durable inbox for messages that are not in memory.
    var memory: Capacity
    var disk: Capacity
    let isDurable: Bool
    var lanes: [LaneKey: Lane] = [:]
    var turns = [Turns<LaneKey>](repeating: Turns(), count: Need.allCases.count)
    /// The deliveries in progress.
    var running: Capacity
    /// The messages that were in flight at a crash, oldest first.
    private(set) var suspects: [Delivery] = []
    /// The messages that are being read: they have their places in memory, and are still on disk only.
    var reading = Use.none
    /// The messages that wait until a time, the next one first.
    private(set) var later: [(due: MonotonicInstant, delivery: Delivery)] = []

    init(_ settings: ServiceSettings, isDurable: Bool) {
        memory = Capacity(messages: max(settings.messages, 1), bytes: max(settings.bytes, 1))
        disk = Capacity(messages: settings.messagesOnDisk, bytes: settings.bytesOnDisk)
        running = Capacity(messages: max(settings.inFlight, settings.concurrency, 1), bytes: 0)
        self.isDurable = isDurable
    }

    /// How many messages in memory wait for their turn.
    var count: Int { lanes.values.reduce(suspects.count) { $0 + $1.head.count } }

    // MARK: Coming in

    /// Where a message waits.
    enum Place {
        case memory
        /// In the inbox; these end, as newer changes of their objects replace them. It may be among them itself.
        case disk(replaced: [Ticket])
        /// Nowhere: there is no capacity for it.
        case none
    }

    /// Adds a message behind those of its lane: in memory, or in the inbox if memory has no room, or if messages of its
    /// lane, or ready ones of its group, wait there already.
    ///
    /// One that `isOld` was accepted by an earlier process, so the inbox has it whatever the bound.
    mutating func append(_ delivery: Delivery, isOld: Bool = false) -> Place {
        let ticket = delivery.ticket
        if isDurable, !hasRoom(for: ticket) { return append(ticket, isOld: isOld) }
        admit(delivery)
        list(ticket.lane)
        return .memory
    }

    /// Adds a message that was in flight at a crash.
    mutating func append(suspect: Delivery) { suspects.append(placed(suspect)) }

    /// Adds a message that memory has room for.
    mutating func admit(_ delivery: Delivery) {
        lanes[delivery.ticket.lane, default: Lane()].head.append(placed(delivery))
    }

    /// A message with its place in memory, which is reserved before if the inbox is there too.
    private mutating func placed(_ delivery: Delivery) -> Delivery {
        var delivery = delivery
        delivery.hasPlace = true
        if isDurable { memory.add(delivery.ticket.use, delivery.ticket.keys, delivery.ticket.lane) }
        return delivery
    }

    private func hasRoom(for ticket: Ticket) -> Bool {
        if let index = lanes.index(forKey: ticket.lane),
            lanes.values[index].isReading || !lanes.values[index].tail.isEmpty
        {
            return false
        }
        return memory.hasRoom(ticket.use, ticket.keys, ticket.lane) && !turns[Need.reading.rawValue].holds(ticket.keys)
    }

    /// Adds a message before those of its lane, and unblocks the lane if it waited for this one.
    mutating func putFirst(_ delivery: Delivery) {
        var delivery = delivery
        release(&delivery)
        if delivery.isSuspect { suspects.insert(delivery, at: 0) } else { putFirst([delivery]) }
    }

    /// Adds messages before those of their lane, in this order.
    private mutating func putFirst(_ deliveries: [Delivery]) {
        let lane = deliveries[0].ticket.lane
        lanes[lane, default: Lane()].head.putFirst(deliveries)
        list(lane)
    }

    /// Reserves memory for messages of a transport, or of none, that are not decoded yet, or frees it.
    mutating func reserve(_ use: Use, _ transport: Int?) { memory.add(use, transport: transport) }

    // MARK: Turns

    /// Whether a message waits that must run alone; then no other begins.
    var hasSuspect: Bool { nextSuspectIndex != nil }

    private var nextSuspectIndex: Int? { suspects.firstIndex { lanes[$0.ticket.lane]?.isBusy != true } }

    /// Begins a message that must run alone; its lane is busy until it is released.
    mutating func nextSuspect() -> Delivery? {
        nextSuspectIndex.map { begin(suspects.remove(at: $0)) }
    }

    /// Begins the message whose turn it is, if fewer than `most` run; its lane is busy until it is released.
    mutating func next(among most: Int) -> Delivery? {
        guard let index = nextLane(.handling, { [running] in running.mayRun($0, among: most) }) else { return nil }
        return lanes.values[index].head.popFirst().map { begin($0) }
    }

    private mutating func begin(_ waiting: Delivery) -> Delivery {
        var delivery = waiting
        delivery.hasLane = true
        lanes[delivery.ticket.lane, default: Lane()].isBusy = true
        running.add(Use(), delivery.ticket.keys)
        return delivery
    }

    /// Takes the lane whose turn it is among those of a need.
    mutating func nextLane(_ need: Need, _ mayTake: (Capacity.Sharer) -> Bool) -> Dictionary<LaneKey, Lane>.Index? {
        while let key = turns[need.rawValue].next(mayTake) {
            guard let index = lanes.index(forKey: key) else { continue }
            lanes.values[index].listed[need.rawValue] = false
            // Its first message may be another one since the lane was listed.
            if let next = lanes.values[index].next, next.need == need, mayTake(.route(next.keys.route)),
                mayTake(.group(next.keys.group))
            {
                return index
            }
            list(key)
        }
        return nil
    }

    /// Lists a lane that is ready for its turn, and forgets an empty one.
    mutating func list(_ key: LaneKey) {
        guard let index = lanes.index(forKey: key) else { return }
        if let (need, keys) = lanes.values[index].next {
            if lanes.values[index].listed[need.rawValue] { return }
            lanes.values[index].listed[need.rawValue] = true
            turns[need.rawValue].append(key, keys)
        } else if lanes.values[index].isIdle {
            lanes.remove(at: index)
        }
    }

    // MARK: Waiting until a time

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
    mutating func leave(_ leaving: Delivery) {
        var delivery = leaving
        release(&delivery)
        guard delivery.hasPlace else { return }
        let ticket = delivery.ticket
        if isDurable { memory.add(-ticket.use, ticket.keys, ticket.lane) } else { reserve(-ticket.use, ticket.intake) }
    }

    // MARK: The newest

    /// Gives the place of a message that has its turn to the newest of those in its lane that replace it, if there is
    /// one; the others wait in front of the lane.
    mutating func takeNewest(_ delivery: inout Delivery) -> Bool {
        let newer = remove(from: delivery.ticket.lane) { [delivery] in $0.isUntried && delivery.isReplaced(by: $0) }
        guard var newest = newer.first else { return false }
        for other in newer where newest.isOlder(than: other) { newest = other }
        (newest.hasLane, delivery.hasLane) = (delivery.hasLane, false)
        putFirst(([delivery] + newer).filter { $0.ticket !== newest.ticket })
        delivery = newest
        return true
    }

    /// Removes the messages that waited before a message and that it replaces.
    mutating func removeOlder(than newest: Delivery) -> [Delivery] {
        remove(from: newest.ticket.lane) { $0.ticket.number < newest.ticket.number && $0.isReplaced(by: newest) }
    }

    /// Removes the messages of a busy lane that are in memory and meet a condition, in order.
    private mutating func remove(from key: LaneKey, where condition: (Delivery) -> Bool) -> [Delivery] {
        lanes[key]?.head.removeAll(where: condition) ?? []
    }

    // MARK: The end

    /// All messages in memory, in no order.
    var deliveries: [Delivery] { suspects + later.map(\.delivery) + lanes.values.flatMap(\.head.all) }

    /// All that are not in memory, in no order.
    var unread: [Ticket] { lanes.values.flatMap(\.tail.all) }
}
