// Messages that wait only as numbers in a durable inbox: reads them at their turn, ends those that cannot wait, and
// stores postponed dead letters.

import KiiPush

extension PushService {
    // MARK: Reading

    /// The message whose turn it is, read from the inbox if it must be; nil if there is none for now.
    func delivery(of turn: WaitingRoom.Turn) async -> Delivery? {
        let items: [Unread]
        switch turn {
        case .whole(let delivery): return delivery
        case .unread(let unread): items = unread
        }
        guard let (entries, standard) = entries(of: items.map(\.number)) else {
            putBack(items)
            return nil
        }
        var deliveries: [Delivery] = []
        for item in items {
            guard let entry = entries[item.number] else {
                item.receipt.finish(nil)
                continue
            }
            do throws(DecodeError) {
                deliveries.append(try delivery(entry, standard, item))
            } catch {
                await endUndecodable(entry, error)
                item.receipt.finish(.undecodable(error))
            }
        }
        return change { [deliveries] state in
            state.readPause = .zero
            return state.room.haveRead(items, deliveries)
        }
    }

    /// Reads waiting payloads, and the current delivery settings; nil if they cannot be read.
    private func entries(of numbers: [UInt64]) -> ([UInt64: InboxEntry], DeliverySettings)? {
        do {
            var entries: [UInt64: InboxEntry] = [:]
            for entry in try inbox.entries(of: numbers) { entries[entry.id] = entry }
            works(.reading)
            return (entries, change { $0.delivery })
        } catch {
            fails(.reading, "payloads waiting in the inbox could not be read: \(error)")
            return nil
        }
    }

    /// Puts back payloads that could not be read, and lets none be read until a pause is over.
    private func putBack(_ items: [Unread]) {
        let length = change { state in
            state.room.putBack(items)
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

    /// Ends a delivery that found no capacity.
    func endUnplaced(_ delivery: Delivery) async {
        var (delivery, ended) = (delivery, Ended?.none)
        // A dead letter without a route would never be handled.
        if delivery.message.routes.isEmpty {
            await end(&delivery, .unrouted(.noRoute), &ended)
        } else {
            await deadLetter(&delivery, .backlogFull, &ended)
        }
        await writeDown(&ended)
        change { $0.unplaced -= 1 }
    }

    /// Ends changes of an object that a newer one replaced while they waited: perhaps thousands, and other records wait
    /// for each step.
    func endReplaced(_ items: [Unread], atOnce: Int = 128) async {
        for start in stride(from: 0, to: items.count, by: atOnce) {
            let some = items[start..<min(start + atOnce, items.count)]
            let isRecorded = await record(some.map { .ended($0.number) })
            if !isRecorded { change { $0.report.left += some.count } }
            for item in some {
                if isRecorded { receiver.counters.count(.superseded) }
                item.receipt.finish(isRecorded ? .superseded : nil)
            }
        }
    }

    // MARK: Put off

    /// Leaves a message in the inbox until the dead-letter store has capacity for it; the chain forgets it.
    func putOff(_ delivery: inout Delivery, _ reason: DeadLetter.Reason) {
        let ticket = delivery.ticket
        let putOff = PutOff(
            number: ticket.number, reason: reason, routes: openRoutes(of: delivery),
            attempts: delivery.incoming.attempts, cause: delivery.cause, receipt: ticket.receipt)
        forget(delivery)
        if let gap = gap(of: delivery) { close(gap) }
        let now = clock.now
        change { state in
            state.putOff.append(putOff)
            state.storeAgain(after: now)
            state.room.leave(&delivery)
        }
    }

    /// Dead-letters postponed messages, one after another, until the store is full again.
    func storeNext() async {
        while case let some = change({ $0.takePutOff(16) }), !some.isEmpty {
            let entries = entries(of: some.map(\.number))?.0
            for (index, putOff) in some.enumerated() {
                if let entries, await store(putOff, entries[putOff.number]) { continue }
                let now = clock.now
                return change { state in
                    state.putOff.putFirst(Array(some[index...]))
                    state.storeAgain(after: now)
                }
            }
        }
    }

    /// Dead-letters a message; false if it does not fit.
    private func store(_ putOff: PutOff, _ entry: InboxEntry?) async -> Bool {
        guard let entry, let message = try? receiver.decode(entry.payload) else {
            putOff.receipt.finish(nil)
            return true
        }
        var routed = receiver.prepare(message).message
        prepareAnswer(&routed, putOff.receipt, entry.answers)
        let incoming = Incoming(routed, done: entry.handled)
        let outcome = receiver.deadLetter(
            routed, putOff.reason, putOff.routes, attempts: putOff.attempts, cause: putOff.cause,
            inboxID: putOff.number)
        noteStored(outcome)
        if case .failed = outcome { return false }
        let end = putOff.reason == .quarantined ? Outcome.quarantined : outcome
        receiver.end(incoming, end)
        let answer = incoming.answer(end)
        let kept = answer.flatMap { unsent($0, of: message, putOff.number) }.map { [InboxRecord.answer($0)] }
        let isRecorded = await record((kept ?? []) + [.ended(putOff.number)])
        if !isRecorded { change { $0.report.left += 1 } }
        finish(putOff.receipt, isRecorded ? end : nil, answer, mayAnswer: routed.answers != nil)
        return true
    }
}

/// A message that did not fit into the dead-letter store, and waits in the durable inbox.
struct PutOff: Sendable {
    let number: UInt64
    let reason: DeadLetter.Reason
    /// The routes that did not handle it.
    let routes: [String]
    let attempts: Int
    let cause: String?
    let receipt: Receipt
}
