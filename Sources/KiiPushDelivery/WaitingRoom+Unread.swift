// Messages that wait as tickets, in the durable inbox and not in memory, and are read when memory has room.

import KiiPush

extension WaitingRoom {
    /// Adds a message that is not in memory; beyond the bound, the newest change of an object replaces older ones.
    mutating func append(_ ticket: Ticket, isOld: Bool) -> Place {
        var replaced: [Ticket] = []
        if !isOld, !disk.hasRoom(ticket.use, ticket.keys) {
            guard let changedAt = ticket.changedAt else { return .none }
            var hasNewer = false
            replaced =
                lanes[ticket.lane]?.tail.removeAll { other in
                    guard let time = other.changedAt, other.keys.route == ticket.keys.route else { return false }
                    if time > changedAt { hasNewer = true }
                    return time <= changedAt
                } ?? []
            for other in replaced { disk.add(-other.use, other.keys) }
            if hasNewer { return .disk(replaced: replaced + [ticket]) }
            if replaced.isEmpty { return .none }
        }
        disk.add(ticket.use, ticket.keys)
        lanes[ticket.lane, default: Lane()].tail.append(ticket)
        list(ticket.lane)
        return .disk(replaced: replaced)
    }

    /// How many messages are read at once, the largest of which use half of the standard memory, and how many of one
    /// lane while others wait to be read: few, so that one read serves many lanes.
    private static let (mostRead, mostOfLane) = (64, 4)

    /// Takes messages to read: of the first lane whose route and group use little memory, then of others while there is
    /// room.
    mutating func nextUnread() -> [Ticket]? {
        guard reading == .none, memory.isOpen,
            let first = nextLane(.reading, { [memory] in memory.isOpen($0, isLow: true) })
        else { return nil }
        let key = lanes.keys[first]
        var tickets: [Ticket] = []
        take(key, Self.mostOfLane, &tickets)
        while tickets.count < Self.mostRead, memory.isOpen,
            let other = nextLane(.reading, { [memory] in memory.isOpen($0) })
        {
            take(lanes.keys[other], Self.mostOfLane, &tickets)
        }
        take(key, Self.mostRead, &tickets)
        for ticket in tickets { reading = reading + ticket.use }
        return tickets
    }

    /// Takes the first messages of a lane that are to be read; at least one, if none of the lane is, and just one of
    /// those that were put off.
    private mutating func take(_ key: LaneKey, _ most: Int, _ tickets: inout [Ticket]) {
        guard let index = lanes.index(forKey: key) else { return }
        let end = min(tickets.count + most, Self.mostRead)
        while tickets.count < end, let ticket = lanes.values[index].tail.first,
            !lanes.values[index].isReading
                || key != .putOff && memory.hasRoom(ticket.use, ticket.keys, ticket.lane)
        {
            lanes.values[index].isReading = true
            _ = lanes.values[index].tail.popFirst()
            disk.add(-ticket.use, ticket.keys)
            memory.add(ticket.use, ticket.keys, ticket.lane)
            tickets.append(ticket)
        }
    }

    /// Puts those of `tickets` that were read into their lanes; the others have left the inbox.
    mutating func haveRead(_ tickets: [Ticket], _ deliveries: [Delivery]) {
        for ticket in tickets { memory.add(-ticket.use, ticket.keys, ticket.lane) }
        for delivery in deliveries { admit(delivery) }
        endReading(tickets)
    }

    /// Puts back messages that could not be read, because the service stops: in no order, since none is read any more.
    mutating func putBack(_ tickets: [Ticket]) {
        for ticket in tickets {
            memory.add(-ticket.use, ticket.keys, ticket.lane)
            disk.add(ticket.use, ticket.keys)
            lanes[ticket.lane]?.tail.append(ticket)
        }
        endReading(tickets)
    }

    private mutating func endReading(_ tickets: [Ticket]) {
        reading = .none
        for ticket in tickets {
            lanes[ticket.lane]?.isReading = false
            list(ticket.lane)
        }
    }
}
