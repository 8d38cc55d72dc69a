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
        let (_, isKept) = reject(entry.payload, error, inboxID: isDurable ? entry.id : nil)
        if isKept { _ = await record(.ended(entry.id)) }
    }

    // MARK: Ending

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

    /// How many replaced payloads end in one step: the records of all other messages wait for that step.
    ///
    /// A newer change may replace all that wait for its lane, thousands by default.
    private static let mostReplacedAtOnce = 128

    /// Ends changes of an object that a newer one replaced while they waited; the chain has not seen them.
    func endReplaced(_ items: [Unread]) async {
        for start in stride(from: 0, to: items.count, by: Self.mostReplacedAtOnce) {
            await endTogether(items[start..<min(start + Self.mostReplacedAtOnce, items.count)])
        }
    }

    private func endTogether(_ items: ArraySlice<Unread>) async {
        let isRecorded = await record(items.map { .ended($0.number) })
        if !isRecorded { change { $0.report.left += items.count } }
        for item in items {
            if isRecorded { receiver.counters.count(.superseded) }
            item.receipt.finish(isRecorded ? .superseded : nil)
        }
    }
}

// MARK: - Put off

/// A message to be dead-lettered that did not fit into the dead-letter store.
///
/// It waits in the durable inbox without a place; only this value stays in memory.
struct PutOff: Sendable {
    let number: UInt64
    let reason: DeadLetter.Reason
    /// The routes that did not handle it.
    let routes: [String]
    let attempts: Int
    let cause: String?
    let receipt: Receipt
}

extension PushService {
    /// How many payloads are read at once.
    private static let atOnce = 16

    /// Leaves a message in the inbox until the dead-letter store has capacity for it; the chain forgets it.
    func putOff(_ delivery: inout Delivery, _ reason: DeadLetter.Reason) {
        let ticket = delivery.ticket
        let putOff = PutOff(
            number: ticket.number, reason: reason, routes: openRoutes(of: delivery),
            attempts: delivery.incoming.attempts, cause: delivery.cause, receipt: ticket.receipt)
        forget(delivery)
        closeGap(of: delivery)
        let now = clock.now
        change { state in
            state.putOff.append(putOff)
            state.storeAgain(after: now)
            state.room.leave(&delivery)
        }
    }

    /// Dead-letters postponed messages, one after another, until the store is full again.
    func storeNext() async {
        while true {
            let some: [PutOff] = change { state in
                guard state.isRunning else { return [] }
                return (0..<Self.atOnce).compactMap { _ in state.putOff.popFirst() }
            }
            if some.isEmpty { return }
            let left = await store(some)
            if left.isEmpty { continue }
            let now = clock.now
            return change { state in
                state.putOff.putFirst(left)
                state.storeAgain(after: now)
            }
        }
    }

    /// Dead-letters messages; returns those that do not fit.
    private func store(_ some: [PutOff]) async -> [PutOff] {
        guard let (entries, _) = entries(of: some.map(\.number)) else { return some }
        for (index, putOff) in some.enumerated() {
            guard let entry = entries[putOff.number],
                let message = try? receiver.decode(entry.payload)
            else {
                putOff.receipt.finish(nil)
                continue
            }
            let routed = receiver.prepare(message).message
            let outcome = receiver.deadLetter(
                routed, putOff.reason, putOff.routes, attempts: putOff.attempts, cause: putOff.cause,
                inboxID: putOff.number)
            noteStored(outcome)
            if case .failed = outcome { return Array(some[index...]) }
            let end = putOff.reason == .quarantined ? Outcome.quarantined : outcome
            receiver.end(Incoming(routed), end)
            let isRecorded = await record(.ended(putOff.number))
            if !isRecorded { change { $0.report.left += 1 } }
            putOff.receipt.finish(isRecorded ? end : nil)
        }
        return []
    }
}

extension ServiceState {
    /// Schedules another attempt to store dead letters after a pause, unless an earlier one is scheduled.
    fileprivate mutating func storeAgain(after now: MonotonicInstant) {
        let due = now.advanced(by: max(delivery.maxBackoff, .seconds(1)))
        storeAgainAt = storeAgainAt ?? due
        wakeTimer(by: due)
    }
}
