import KiiPush

// Capacity: which intake may submit payloads, and which delivery has a place.

extension ServiceState {
    var messages: Int { places.used.messages }
    var bytes: Int { places.used.bytes }
    /// How many payloads wait in the inbox without a place.
    var onDisk: Int { spill.used.messages + putOff.count }

    /// Whether an intake may submit payloads now; one that is larger than all places is accepted alone.
    ///
    /// With a durable inbox it always may, except while very many messages are being dead-lettered.
    func hasRoom(_ count: Int, _ bytes: Int, _ intake: Int) -> Bool {
        if isBehindGap(intake) { return false }
        if isDurable { return unplaced < max(settings.messages, 1) }
        if messages == 0 { return true }
        let limit = limit(intake)
        return messages + count <= limit.messages && self.bytes + bytes <= limit.bytes
    }

    /// Whether to call a waiting intake: its payloads fit, and a quarter of all places is free, so that it is not
    /// called for each single payload.
    func mayCome(_ intake: Int) -> Bool {
        let (count, bytes) = refused[intake] ?? (1, 0)
        guard phase.acceptsPayloads else { return true }
        // It comes to have an unsaved gap saved.
        if isBehindGap(intake) { return !gaps.unsaved.isEmpty }
        if isDurable { return unplaced <= settings.messages / 4 * 3 }
        guard messages > 0 else { return true }
        let limit = limit(intake)
        guard messages <= limit.messages / 4 * 3, self.bytes <= limit.bytes / 4 * 3 else { return false }
        return hasRoom(count, bytes, intake)
    }

    /// All places except those that are reserved for other intakes.
    private func limit(_ intake: Int) -> Use {
        let all = Use(messages: settings.messages, bytes: settings.bytes)
        let kept = intakes.kept(forOthersThan: intake, all)
        return Use(messages: all.messages - kept.messages, bytes: all.bytes - kept.bytes)
    }

    /// Reserves places for payloads that are not decoded yet, or frees them.
    mutating func reserve(_ use: Use, _ intake: Int?) {
        places.add(use)
        intakes.add(use, intake ?? -1)
    }

    /// Gives a delivery a place, if it has none.
    mutating func enter(_ delivery: inout Delivery) {
        guard !delivery.hasPlace else { return }
        delivery.hasPlace = true
        let ticket = delivery.ticket
        if isDurable {
            places.enter(ticket.keys, ticket.bytes)
        } else {
            reserve(Use(messages: 1, bytes: ticket.bytes), ticket.intake)
        }
    }

    /// Frees the place of a delivery, if it has one.
    mutating func vacate(_ delivery: inout Delivery) {
        guard delivery.hasPlace else { return }
        delivery.hasPlace = false
        let ticket = delivery.ticket
        if isDurable {
            places.leave(ticket.keys, ticket.bytes)
        } else {
            reserve(Use(messages: -1, bytes: -ticket.bytes), ticket.intake)
        }
    }

    // MARK: Without a place

    /// Puts a delivery into its lane; if it gets no place, leaves it waiting in the durable inbox.
    ///
    /// - Returns: the answer for a delivery without a place; nil if it has one.
    mutating func admit(_ delivery: Delivery) -> Spill.Answer? {
        var delivery = delivery
        if isDurable {
            guard hasPlace(for: delivery.ticket) else { return spill.append(Spill.Item(delivery)) }
            enter(&delivery)
        } else {
            // Its payload has reserved a place.
            delivery.hasPlace = true
        }
        queue(delivery)
        return nil
    }

    /// Whether a delivery of a durable inbox may get a place before all that wait for one.
    func hasPlace(for ticket: Ticket) -> Bool {
        !spill.holds(ticket.keys) && places.hasRoom(ticket.keys, ticket.bytes)
    }

    /// Puts a delivery behind those of its lane; while suspects run, it waits for their end first.
    mutating func queue(_ delivery: Delivery) {
        guard phase != .recovering else { return behindSuspects.append(delivery) }
        var delivery = delivery
        delivery.takeOlder(from: &lanes)
        lanes.append(delivery)
    }
}
