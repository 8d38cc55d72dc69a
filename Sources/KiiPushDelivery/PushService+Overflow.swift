// Messages that wait only as tickets, in a durable inbox: reads them at their turn, ends those that cannot wait, and
// stores postponed dead letters.

import KiiPush

extension PushService {
    // MARK: Reading

    /// The message whose turn it is, read from the inbox if it must be; nil if there is none for now.
    func delivery(of turn: WaitingRoom.Turn) async -> Delivery? {
        let tickets: [Ticket]
        switch turn {
        case .whole(let delivery): return delivery
        case .unread(let unread): tickets = unread
        }
        guard let entries = entries(of: tickets) else {
            putBack(tickets)
            return nil
        }
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
        return change { [deliveries] state in
            state.readPause = .zero
            return state.room.haveRead(tickets, deliveries)
        }
    }

    /// Reads waiting payloads; nil if they cannot be read.
    private func entries(of tickets: [Ticket]) -> [UInt64: InboxEntry]? {
        do {
            var entries: [UInt64: InboxEntry] = [:]
            for entry in try inbox.entries(of: tickets.map(\.number)) { entries[entry.id] = entry }
            works(.reading)
            return entries
        } catch {
            fails(.reading, "payloads waiting in the inbox could not be read: \(error)")
            return nil
        }
    }

    /// Puts back payloads that could not be read, and lets none be read until a pause is over.
    private func putBack(_ tickets: [Ticket]) {
        let length = change { state in
            state.room.putBack(tickets)
            state.room.mayRead = false
            state.readPause = min(max(state.readPause * 2, .milliseconds(100)), .seconds(10))
            return state.readPause
        }
        start { if await self.pause(length) { self.change { $0.room.mayRead = true } } }
    }

    /// Dead-letters a payload that is not a message for this process; if it does not fit, it stays for the next
    /// process.
    func endUndecodable(_ entry: InboxEntry, _ error: DecodeError) async {
        if reject(entry.payload, error, inboxID: isDurable ? entry.id : nil) { _ = await record(.ended(entry.id)) }
    }

    /// Ends a delivery that found no capacity: dead-letters it if its handlers were to run, now or later.
    func endUnplaced(_ delivery: Delivery) async {
        var (delivery, ended) = (delivery, Ended?.none)
        // A replay is not asked: what was handled before, or caused by this device, must not be a dead letter.
        switch receiver.ask(&delivery.incoming) {
        case nil, .paced, .failed: await deadLetter(&delivery, .backlogFull, &ended)
        case let outcome?: await notAdmitted(&delivery, outcome, &ended)
        }
        await writeDown(&ended)
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

    // MARK: Put off

    /// Leaves a message in the inbox until the dead-letter store has capacity for it; the chain forgets it.
    func putOff(_ delivery: inout Delivery, _ reason: DeadLetter.Reason, _ routes: [String]) {
        let putOff = PutOff(ticket: delivery.ticket, reason: reason, routes: routes, cause: delivery.cause)
        forget(delivery)
        if let gap = gap(of: delivery) { close(gap) }
        change { state in
            state.putOff.append(putOff)
            state.room.leave(&delivery)
        }
        storeLater()
    }

    /// Tries to store postponed dead letters after a pause, unless that is planned.
    private func storeLater() {
        let length: Duration? = change { state in
            guard !state.storesLater else { return nil }
            state.storesLater = true
            return max(state.delivery.maxBackoff, .seconds(1))
        }
        if let length { startEnding(after: length) { await self.storeNext() } }
    }

    /// Dead-letters postponed messages, one after another, until the store is full again; 16 of the largest, which are
    /// read at once, have 1 MiB.
    private func storeNext() async {
        while case let some = takePutOff(), !some.isEmpty {
            let entries = entries(of: some.map(\.ticket))
            for (index, putOff) in some.enumerated() {
                if let entries, await store(putOff, entries[putOff.ticket.number]) { continue }
                change { $0.putOff.putFirst(Array(some[index...])) }
                return storeLater()
            }
        }
    }

    private func takePutOff() -> [PutOff] {
        change { state in
            state.storesLater = false
            return state.isRunning ? (0..<16).compactMap { _ in state.putOff.popFirst() } : []
        }
    }

    /// Dead-letters a message; false if it does not fit.
    private func store(_ putOff: PutOff, _ entry: InboxEntry?) async -> Bool {
        guard let entry, var delivery = try? delivery(entry, putOff.ticket) else {
            putOff.ticket.receipt.finish(nil)
            return true
        }
        delivery.cause = putOff.cause
        let outcome = store(delivery, putOff.reason, putOff.routes)
        if case .failed = outcome {
            receiver.loopGuard?.forget(delivery.message)
            return false
        }
        var ended: Ended?
        await end(&delivery, putOff.reason == .quarantined ? .quarantined : outcome, &ended)
        await writeDown(&ended)
        return true
    }
}

/// A message that did not fit into the dead-letter store, and waits in the durable inbox.
struct PutOff: Sendable {
    let ticket: Ticket
    let reason: DeadLetter.Reason
    /// The routes that did not handle it.
    let routes: [String]
    let cause: String?
}
