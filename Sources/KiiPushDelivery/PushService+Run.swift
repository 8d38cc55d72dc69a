// From the first payload that an earlier process left to the report at the end.

import KiiPush

extension PushService {
    /// Takes payloads in and delivers them, until the task is cancelled or the transports have no more.
    ///
    /// First it handles what an earlier process left in the inbox; what was in flight when that ended, one at a time.
    /// Then it takes new payloads in. When all transports have returned, it goes on until all messages have ended, but
    /// for those that the loop guard holds. When the task is cancelled, or a transport throws, it takes nothing more
    /// in, lets the handlers that run finish for as long as ``ServiceSettings/drain`` says, then cancels them, and
    /// leaves the rest: in a durable inbox for the next process, else for their transports, whose receipts end with
    /// nil.
    ///
    /// When it has returned, nothing of it runs any more but handlers that did not return when they were cancelled. It
    /// waits for each transport, and for a note that the inbox is writing, however long that takes.
    ///
    /// - Returns: what became of the messages at the end.
    /// - Throws: what a transport threw, or the inbox when it could not be read; ``ServiceUsed`` for a second call. Not
    ///   when it was cancelled.
    @discardableResult
    public func run() async throws -> DrainReport {
        let isNew = change { state in
            guard state.phase == .new else { return false }
            state.phase = .recovering
            state.reader = { items in self.read(items) }
            return true
        }
        guard isNew else { throw ServiceUsed() }
        return try await onExecutor { try await deliverAll() }
    }

    private func deliverAll() async throws -> DrainReport {
        if inbox.isDurable, !receiver.deadLetters.isDurable {
            tell(
                .notDurable(
                    "the inbox is durable and the dead letters are not: what is put aside is gone from the one and lost with "
                        + "the process; give the receiver durable `deadLetters`"))
        }
        let timer = start { await self.runTimer() }
        let held = start { await self.runHeld() }
        var failure: (any Error)?
        await withTaskCancellationHandler {
            do {
                try await recover()
                try await bringPayloads()
                await idle()
            } catch {
                failure = error
            }
        } onCancel: {
            self.stopIntake()
        }
        stopIntake()
        await quiet()
        let (report, drain) = leaveAll()
        drain?.cancel()
        held.cancel()
        await timer.value
        await held.value
        await drain?.value
        if let failure, !(failure is CancellationError && Task.isCancelled) { throw failure }
        return report
    }

    private func bringPayloads() async throws {
        // Let go here: a transport that keeps its intake must not keep the service once this is over.
        let transports = change { state in
            defer { state.transports = [] }
            return state.transports
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (number, transport) in transports.enumerated() {
                let door = TransportIntake(service: self, number: number)
                let intake = PushIntake(service: door, transport: transport.name)
                change { $0.intakes.begin(number) }
                group.addTask {
                    // What can hand nothing more over, and lets that out, has returned.
                    do { try await transport.run(intake) } catch IntakeRefusal.stopping {}
                    self.change { $0.intakes.end(number) }
                }
            }
            do {
                // Not by `waitForAll`, which would wait for those that have not thrown.
                for try await _ in group {}
            } catch {
                stopIntake()
                group.cancelAll()
                throw error
            }
        }
    }

    // MARK: Ending

    /// Takes nothing more in and begins nothing more; after the time to drain, cancels what runs.
    private func stopIntake() {
        let end = clock.now.advanced(by: settings.drain)
        change { state in
            guard state.isRunning else { return }
            state.phase = .stopping
            state.drain = start { [self] in
                do {
                    try await clock.sleep(until: end)
                    cancelRuns()
                    try await clock.sleep(until: end.advanced(by: settings.grace))
                    stopPauses()
                } catch {}
            }
        }
    }

    /// Leaves what waits for a failing inbox.
    private func stopPauses() {
        let pauses = change { state in
            state.phase = .stopped
            return Array(state.pauses.values)
        }
        for pause in pauses { pause.cancel() }
    }

    /// Waits until nothing is left to do, or the service stops.
    private func idle() async {
        await withCheckedContinuation { waiter in change { $0.idleWaiter = waiter } }
    }

    /// Waits until nobody does anything.
    private func quiet() async {
        await withCheckedContinuation { waiter in change { $0.quietWaiter = waiter } }
    }

    /// Leaves what has not ended.
    private func leaveAll() -> (DrainReport, drain: Task<Void, Never>?) {
        let (all, pauses, drain) = change { state in (state.removeAll(), Array(state.pauses.values), state.drain) }
        for pause in pauses { pause.cancel() }
        for receipt in all.receipts { receipt.finish(nil) }
        for delivery in all.waiting {
            leave(delivery)
            if let turn = delivery.walk.turn { receiver.loopGuard?.turnEnded(turn) }
        }
        for held in receiver.loopGuard?.removeHeld(where: { all.parked[$0.id] != nil }) ?? [] {
            if !held.isRemainder { receiver.counters.uncountHeld() }
            held.abandon()
        }
        for delivery in all.parked.values { delivery.ticket.receipt.finish(nil) }
        return (change { $0.report }, drain)
    }
}

extension ServiceState {
    /// Stops, and takes out all that has not ended: what waits for a turn, an attempt or a first copy, what is held,
    /// and the receipts of what waits in the inbox alone.
    fileprivate mutating func removeAll() -> (waiting: [Delivery], parked: [UInt64: Delivery], receipts: [Receipt]) {
        phase = .stopped
        reader = nil
        isOversleeping = true
        report.left += parked.count + onDisk
        let receipts = spill.removeAll().map(\.receipt) + putOff.removeAll().map(\.receipt)
        var waiting = lanes.removeAll() + retries.map(\.delivery) + copies.values
        if case .next(let delivery) = alone { waiting.append(delivery) }
        defer { (retries, parked, copies, alone) = ([], [:], [:], .none) }
        return (waiting, parked, receipts)
    }
}

/// A service runs once; make another one.
public struct ServiceUsed: Error, CustomStringConvertible {
    /// What to do, in words.
    public var description: String { "a service runs once; make another one" }
}
