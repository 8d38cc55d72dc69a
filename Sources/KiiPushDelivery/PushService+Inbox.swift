// Records the progress of messages in the inbox, and reads those that wait there, with retries; which stores fail now:
// each call shows it, and a health check asks.

import KiiPush
import Synchronization

extension PushService {
    /// Writes records to the inbox, all in one step; retries until they are written, and returns false if the service
    /// has stopped.
    func record(_ records: [InboxRecord]) async -> Bool {
        // An inbox in memory keeps nothing but answers, and only senders give any.
        guard !records.isEmpty, isDurable || !answerSenders.all.isEmpty else { return true }
        let what = "the inbox could not record the outcome of a message"
        return await retry(.recording, what, until: .stopped) { [inbox] in try await inbox.record(records) } != nil
    }

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

    /// Calls a store until it works, with pauses that double from 100 ms to 10 s; nil if the service reaches this phase
    /// before.
    func retry<Result>(
        _ use: StoreUse, _ what: String, until last: ServiceState.Phase, _ body: () async throws -> Result
    ) async -> Result? {
        var length = Duration.milliseconds(100)
        while true {
            do {
                let result = try await body()
                works(use)
                return result
            } catch {
                fails(use, "\(what): \(error)")
            }
            guard await pause(length, until: last) else { return nil }
            length = min(length * 2, .seconds(10))
        }
    }

    /// Waits for this time, or until the service reaches this phase; returns false if it has.
    func pause(_ length: Duration, until last: ServiceState.Phase = .stopped) async -> Bool {
        let end = clock.now.advanced(by: length)
        await withCheckedContinuation { waiter in
            change { state in
                let condition = ServiceState.Condition.isOver(end, last: last, number: state.nextNumber())
                state.waiters[condition] = { waiter.resume() }
                state.wakeTimer(by: end)
            }
        }
        return state.withLock { $0.phase < last }
    }

    // MARK: Failures

    /// Finds out whether the inbox would keep a payload now; then ``status`` is right, even if none has come for long.
    ///
    /// Call it for a health check, before you read ``status``. It blocks the thread for a write, as
    /// ``PushIntake/submit(_:)`` does.
    public func checkInbox() {
        guard state.withLock({ $0.phase == .open }) else { return }
        do {
            try inbox.check()
            works(.adding)
        } catch {
            fails(
                .adding, "the inbox cannot store payloads: \(error)",
                isTold: state.withLock { $0.failures[.adding] == nil })
        }
    }

    /// Records that a call of a store failed, and reports it.
    func fails(_ use: StoreUse, _ what: String, isTold: Bool = true) {
        change { state in
            state.failures[use] = what
            isFailing.store(true, ordering: .relaxed)
        }
        if isTold { tell(.storeFailed(what)) }
    }

    /// Records that a call of a store did not fail.
    func works(_ use: StoreUse) {
        guard isFailing.load(ordering: .relaxed) else { return }
        change { state in
            state.failures[use] = nil
            isFailing.store(!state.failures.isEmpty, ordering: .relaxed)
        }
    }
}

/// A use of a store by a service; the one that accepts payloads first.
enum StoreUse: Comparable {
    case adding, recording, reading, deadLetters
}
