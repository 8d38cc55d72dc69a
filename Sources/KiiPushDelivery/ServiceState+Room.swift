import KiiPush

// Room: who may hand payloads over, and which delivery has a place.

extension ServiceState {
    var messages: Int { places.used.messages }
    var bytes: Int { places.used.bytes }
    /// How many payloads wait in the inbox without a place.
    var onDisk: Int { spill.used.messages + putOff.count }

    /// Whether an intake may hand payloads over now; what is larger than all there may be comes alone.
    ///
    /// With a durable inbox it always may, but for a moment, while very much is being dead-lettered.
    func hasRoom(_ count: Int, _ bytes: Int, _ intake: Int) -> Bool {
        if isDurable { return unplaced < max(settings.messages, 1) }
        if messages == 0 { return true }
        let limit = limit(intake)
        return messages + count <= limit.messages && self.bytes + bytes <= limit.bytes
    }

    /// Whether it is worth while to call one who waits with payloads: they have room, and a quarter of all is free, or
    /// he would come for one each.
    func mayCome(_ intake: Int) -> Bool {
        let (count, bytes) = refused[intake] ?? (1, 0)
        guard phase == .open else { return true }
        if isDurable { return unplaced <= settings.messages / 4 * 3 }
        guard messages > 0 else { return true }
        let limit = limit(intake)
        guard messages <= limit.messages / 4 * 3, self.bytes <= limit.bytes / 4 * 3 else { return false }
        return hasRoom(count, bytes, intake)
    }

    /// All places but those that are kept for other intakes.
    private func limit(_ intake: Int) -> Use {
        let all = Use(messages: settings.messages, bytes: settings.bytes)
        let kept = intakes.kept(forOthersThan: intake, all)
        return Use(messages: all.messages - kept.messages, bytes: all.bytes - kept.bytes)
    }

    /// Takes places for payloads of which nothing is known yet, or gives them back.
    mutating func reserve(_ use: Use, _ intake: Int) {
        places.add(use)
        intakes.add(use, intake)
    }

    /// Gives a delivery a place, if it has none.
    mutating func enter(_ delivery: inout Delivery) {
        guard !delivery.hasPlace else { return }
        delivery.hasPlace = true
        let ticket = delivery.ticket
        if isDurable {
            places.enter(ticket.keys, ticket.bytes)
        } else {
            reserve(Use(messages: 1, bytes: ticket.bytes), ticket.intake ?? -1)
        }
    }

    /// Takes its place from a delivery, if it has one.
    mutating func vacate(_ delivery: inout Delivery) {
        guard delivery.hasPlace else { return }
        delivery.hasPlace = false
        let ticket = delivery.ticket
        if isDurable {
            places.leave(ticket.keys, ticket.bytes)
        } else {
            reserve(Use(messages: -1, bytes: -ticket.bytes), ticket.intake ?? -1)
        }
    }

    // MARK: Without a place

    /// Puts a delivery into its lane, or without a place into a durable inbox where it finds none.
    ///
    /// - Returns: what became of it without a place; nil when it has one.
    mutating func admit(_ delivery: Delivery) -> Spill.Answer? {
        var delivery = delivery
        if isDurable {
            guard hasPlace(for: delivery.ticket) else { return spill.append(Spill.Item(delivery)) }
            enter(&delivery)
        } else {
            // It has the place that was reserved for its payload.
            delivery.hasPlace = true
        }
        queue(delivery)
        return nil
    }

    /// Whether a delivery of a durable inbox may have a place, before all that waits for one.
    func hasPlace(for ticket: Ticket) -> Bool {
        !spill.holds(ticket.keys) && places.hasRoom(ticket.keys, ticket.bytes)
    }

    /// Puts a delivery behind those of its lane.
    mutating func queue(_ delivery: Delivery) {
        var delivery = delivery
        delivery.takeOlder(from: &lanes)
        lanes.append(delivery)
    }
}
