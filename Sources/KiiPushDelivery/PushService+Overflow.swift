// Messages that wait only as tickets, in a durable inbox: reads them when memory has room, and ends those that cannot
// wait.

import KiiPush

extension PushService {
    // MARK: Reading

    /// Reads messages that memory has room for now.
    func read(_ tickets: [Ticket]) async {
        let what = "payloads waiting in the inbox could not be read"
        let read = await retry(.reading, what, until: .stopping) { [inbox] in
            try inbox.entries(of: tickets.map(\.number))
        }
        guard let read else { return change { $0.room.putBack(tickets) } }
        let entries = Dictionary(read.map { ($0.id, $0) }) { _, last in last }
        var deliveries: [Delivery] = []
        for ticket in tickets {
            guard let entry = entries[ticket.number] else {
                ticket.receipt.finish(nil)
                continue
            }
            do throws(DecodeError) {
                deliveries.append(try delivery(entry, ticket))
            } catch {
                await endUndecodable(entry, error)
                ticket.receipt.finish(.undecodable(error))
            }
        }
        change { [deliveries] state in state.room.haveRead(tickets, deliveries) }
    }

    /// Dead-letters a payload that is not a message for this process; if it does not fit, it stays for the next
    /// process.
    func endUndecodable(_ entry: InboxEntry, _ error: DecodeError) async {
        if reject(entry.payload, error, inboxID: isDurable ? entry.id : nil) { _ = await record([.ended(entry.id)]) }
    }

    /// Ends a delivery that found no capacity: dead-letters it if its handlers were to run, now or later.
    func endUnplaced(_ delivery: Delivery) async {
        var delivery = delivery
        // A replay is not asked: what was handled before, or caused by this device, must not be a dead letter.
        switch receiver.ask(&delivery.incoming) {
        case nil, .paced, .failed: await deadLetter(&delivery, .backlogFull)
        case let outcome?: await notAdmitted(&delivery, outcome)
        }
        await recordEnd(of: delivery)
    }

    /// Ends changes of an object that a newer one replaced while they waited: perhaps thousands, and other records wait
    /// for each step.
    func endReplaced(_ tickets: [Ticket], atOnce: Int = 128) async {
        for start in stride(from: 0, to: tickets.count, by: atOnce) {
            let some = tickets[start..<min(start + atOnce, tickets.count)]
            let isRecorded = await record(some.map { .ended($0.number) })
            if !isRecorded { change { $0.report.left += some.count } }
            for ticket in some {
                if isRecorded { receiver.counters.count(.superseded) }
                ticket.receipt.finish(isRecorded ? .superseded : nil)
            }
        }
    }
}
