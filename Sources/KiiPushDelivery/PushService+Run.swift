// Runs the service, from the payloads of an earlier process to the report at the end.

import KiiPush

extension PushService {
    /// Accepts payloads and delivers them, until the task is cancelled or the transports have no more.
    ///
    /// First it handles the payloads that an earlier process left in the inbox; those that were in flight when that
    /// ended, one at a time. It accepts new payloads meanwhile. When all transports have returned, it continues until
    /// all messages have ended. When the task is cancelled, or a transport throws, it accepts nothing more and lets
    /// running handlers finish within ``ServiceSettings/drain``; then it cancels them, and leaves the rest: in a
    /// durable inbox for the next process, else to their transports, whose receipts end with nil.
    ///
    /// When it has returned, nothing of it still runs, except handlers that did not return when they were cancelled. It
    /// waits for each transport, for an answer that is being sent, and for a record that the inbox is writing, however
    /// long that takes.
    ///
    /// - Returns: how many messages ended, were cancelled, or are left.
    /// - Throws: the error of a transport, or of an inbox that cannot be read; ``ServiceUsed`` for a second call. It
    ///   does not throw if it was cancelled.
    @discardableResult
    public func run() async throws -> DrainReport {
        let isNew = change { state in
            guard state.phase == .new else { return false }
            state.phase = .reading
            return true
        }
        guard isNew else { throw ServiceUsed() }
        return try await withTaskExecutorPreference(executor) { try await deliverAll() }
    }

    private func deliverAll() async throws -> DrainReport {
        if inbox.isDurable, !receiver.deadLetters.isDurable {
            tell(
                .notDurable(
                    "the inbox is durable and the dead letters are not: dead letters are removed from the inbox and "
                        + "lost with the process; give the receiver durable `deadLetters`"))
        }
        let timer = start { await self.runTimer() }
        var answering: [Task<Void, Never>] = []
        var failure: (any Error)?
        await withTaskCancellationHandler {
            do {
                try await recover()
                answering = startAnswering()
                try await bringPayloads()
                await wait(for: .isIdle)
            } catch {
                failure = error
            }
        } onCancel: {
            self.stopIntake()
        }
        stopIntake()
        // No payload may have come since the inbox failed to keep a gap.
        try? saveGaps()
        await wait(for: .isQuiet)
        for transport in change({ Array($0.losses.keys) }) { reportLosses(of: transport, atEnd: true) }
        for task in answering { task.cancel() }
        let report = leaveAll()
        for task in answering { await task.value }
        await timer.value
        releaseAnswerSenders()
        if let failure, !(failure is CancellationError && Task.isCancelled) { throw failure }
        return report
    }

    private func bringPayloads() async throws {
        // Released here, so that a transport that keeps its intake does not keep the service afterwards.
        let transports = change { state in
            defer { state.transports = [] }
            return state.transports
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            try? saveGaps()
            for (number, transport) in transports.enumerated() {
                let door = TransportIntake(service: self, number: number)
                let intake = PushIntake(service: door, transport: transport.name)
                change { $0.runningTransports += 1 }
                group.addTask {
                    // A transport that throws `stopping` counts as returned.
                    do { try await transport.run(intake) } catch IntakeRefusal.stopping {}
                    self.change { $0.runningTransports -= 1 }
                }
            }
            do {
                // `waitForAll` would wait for those that have not thrown.
                for try await _ in group {}
            } catch {
                // The group then cancels the others.
                stopIntake()
                throw error
            }
        }
    }

    // MARK: Recovering

    /// How many times the process must have ended while it handled a message for that to be taken as the cause: one
    /// that is killed repeatedly, for any reason, may be killed twice while it handles the same message alone.
    private static let crashesOfGuilty = 4

    /// Reads the payloads of an earlier process into the waiting room, and lets them run: first, and alone, those that
    /// may have ended it.
    private func recover() async throws {
        var last: UInt64 = 0
        while case let page = try inbox.entries(after: last, limit: 256), let end = page.last?.id, end > last {
            for entry in page { await recover(entry) }
            last = end
        }
        let suspects = change { state in
            if state.phase == .reading { state.phase = .open }
            return state.recovering
        }
        if suspects > 0 { tell(.recovering(messages: suspects)) }
    }

    private func recover(_ entry: InboxEntry) async {
        let delivery: Delivery
        do throws(DecodeError) {
            delivery = try self.delivery(entry)
        } catch {
            // The earlier process had larger limits.
            return await endUndecodable(entry, error)
        }
        follow(delivery)
        if entry.crashes >= Self.crashesOfGuilty, entry.crashedAlone { return await quarantine(delivery) }
        if delivery.isSuspect {
            change { $0.room.append(suspect: delivery) }
        } else if case .disk = change({ $0.room.append(delivery, isOld: true) }) {
            receiver.loopGuard?.forget(delivery.message)
        }
    }

    // MARK: Ending

    /// Accepts and begins nothing more; after the drain time, cancels running handlers.
    private func stopIntake() {
        let now = clock.now
        change { state in
            guard state.isRunning else { return }
            (state.phase, state.phaseEnd) = (.stopping, now.advanced(by: state.settings.drain))
            state.sleep?.task.cancel()
        }
    }

    /// Waits until all messages have ended or the service stops, or until no task is active.
    private func wait(for condition: ServiceState.Condition) async {
        await withCheckedContinuation { waiter in change { $0.waiters[condition] = { waiter.resume() } } }
    }

    /// Stops, and leaves what has not ended: messages that wait, and payloads that are only in the inbox.
    private func leaveAll() -> DrainReport {
        let (deliveries, unread) = change { state in
            state.phase = .stopped
            state.sleep?.task.cancel()
            state.report.left += state.room.disk.used.messages
            defer { state.room = WaitingRoom(state.settings, isDurable: isDurable) }
            return (state.room.deliveries, state.room.unread)
        }
        for ticket in unread { ticket.receipt.finish(nil) }
        for delivery in deliveries { leave(delivery) }
        return change { $0.report }
    }
}

/// A service runs once; make another one.
public struct ServiceUsed: Error, CustomStringConvertible {
    /// What to do, in words.
    public var description: String { "a service runs only once; create a new one" }
}
