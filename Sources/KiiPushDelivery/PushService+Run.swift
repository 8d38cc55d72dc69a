// From the first payload that an earlier process left to the report at the end.

import KiiPush
import Synchronization

extension PushService {
    /// Takes payloads in and delivers them, until the task is cancelled or the transports have no more.
    ///
    /// First it handles what an earlier process left in the inbox; what was in flight when that ended, one at a time.
    /// Then it takes new payloads in. When all transports have returned, it goes on until all messages have ended, but for
    /// those that the loop guard holds. When the task is cancelled, or a transport throws, it takes nothing more in, lets
    /// the handlers that run finish for as long as ``ServiceSettings/drain`` says, then cancels them, and leaves the rest:
    /// in a durable inbox for the next process, else for their transports, whose receipts end with nil.
    ///
    /// When it has returned, nothing of it runs any more but handlers that did not return when they were cancelled. It
    /// waits for each transport, and for a note that the inbox is writing, however long that takes.
    ///
    /// - Returns: what became of the messages at the end.
    /// - Throws: what a transport threw, or the inbox when it could not be read; ``ServiceUsed`` for a second call. Not
    ///   when it was cancelled.
    @discardableResult
    public func run() async throws -> DrainReport {
        let isNew = state.withLock { state in
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
        wakeTimer(by: MonotonicInstant(nanoseconds: .min))
        await timer.value
        await held.value
        await drain?.value
        if let failure, !(failure is CancellationError && Task.isCancelled) { throw failure }
        return report
    }

    // MARK: Beginning

    /// How often the process must have ended while it handled a message until that is taken for the cause.
    ///
    /// From the second time on it was handled alone. A process that is killed again and again, whatever it does, is killed
    /// once in ten times while it handles some message alone, and may well be while it handles that one next.
    private static let crashesOfGuilty = 4

    /// What an earlier process left.
    private struct Left {
        /// What was in flight when it ended, and of that what has ended it too often.
        var suspects: [Parcel] = []
        var guilty: Set<UInt64> = []
        /// What has places of the others.
        var others: [Parcel] = []
    }

    /// Handles what an earlier process left: what may have ended it first, alone.
    private func recover() async throws {
        var (left, last) = (Left(), UInt64(0))
        while let end = try await recover(after: last, &left), end > last { last = end }
        let (suspects, guilty, others) = (left.suspects, left.guilty, left.others)
        queue(suspects)
        while let parcel = nextSuspect() {
            if guilty.contains(parcel.number) { await quarantine(parcel) } else { await deliver(parcel) }
            state.withLock { $0.leaveOff(parcel) }
        }
        state.withLock { state in
            if state.phase == .recovering { state.phase = .open }
        }
        queue(others)
        wake()
    }

    /// Reads a page of what an earlier process left: what finds a place is kept, the rest waits in the inbox.
    ///
    /// - Returns: the number of its last payload; nil where there is none.
    private func recover(after last: UInt64, _ left: inout Left) async throws -> UInt64? {
        let page = try inbox.entries(after: last, limit: 256)
        for entry in page {
            let message: PushMessage
            do throws(DecodeError) {
                message = try PushMessage(entry.payload, limits: receiver.limits)
            } catch {
                // The limits were larger then.
                await endUndecodable(entry, error)
                continue
            }
            let parcel = parcel(entry, receiver.prepare(message))
            if entry.crashes >= Self.crashesOfGuilty, entry.crashedAlone { left.guilty.insert(entry.id) }
            let hasPlace = state.withLock { state in
                let hasPlace = parcel.wasInFlightAtCrash || state.hasPlace(for: parcel)
                if hasPlace { state.enter(parcel) } else { state.spill.add(Spill.Item(parcel)) }
                return hasPlace
            }
            if parcel.wasInFlightAtCrash {
                left.suspects.append(parcel)
            } else if hasPlace {
                left.others.append(parcel)
            }
        }
        return page.last?.id
    }

    private func nextSuspect() -> Parcel? {
        state.withLock { state in
            guard state.phase == .recovering, let parcel = state.lanes.next() else { return nil }
            (state.handling, state.isAlone) = (1, true)
            return parcel
        }
    }

    /// Puts a payload aside that is no message for this process; without room there, it stays for the next one.
    func endUndecodable(_ entry: InboxEntry, _ error: DecodeError) async {
        let (_, isKept) = reject(entry.payload, error, inboxID: inbox.isDurable ? entry.id : nil)
        if isKept { _ = await record(.ended(entry.id)) }
    }

    private func quarantine(_ parcel: Parcel) async {
        var progress = parcel.progress
        receiver.refresh(&progress.message)
        var passed = 0
        // For the deduplicator, that its copies are known; whatever else the chain says, it is not run.
        _ = receiver.admit(&progress.message, passed: &passed)
        progress.chain = .passed(passed)
        _ = await putAside(parcel, progress, .quarantined)
    }

    private func bringPayloads() async throws {
        // Let go here: a transport that keeps its intake must not keep the service once this is over.
        let transports = transports.withLock { transports in
            defer { transports = [] }
            return transports
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (number, transport) in transports.enumerated() {
                let door = TransportIntake(service: self, number: number)
                let intake = PushIntake(service: door, transport: transport.name)
                state.withLock { $0.intakes.begin(number) }
                group.addTask {
                    // What can hand nothing more over, and lets that out, has returned.
                    do { try await transport.run(intake) } catch IntakeRefusal.stopping {}
                    self.state.withLock { $0.intakes.end(number) }
                    self.wake()
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
        let wake = state.withLock { state in
            guard state.isRunning else { return ServiceState.Wake() }
            state.phase = .stopping
            state.drain = start { [self] in
                do {
                    try await clock.sleep(until: end)
                    cancelRuns()
                    try await clock.sleep(until: end.advanced(by: settings.grace))
                    stopPauses()
                } catch {}
            }
            return state.takeWoken(settings)
        }
        wake()
    }

    /// Leaves what waits for a sick inbox.
    private func stopPauses() {
        let pauses = state.withLock { state in
            state.phase = .stopped
            return Array(state.pauses.values)
        }
        for pause in pauses { pause.cancel() }
    }

    /// Waits until nothing is left to do, or the service stops.
    private func idle() async {
        await withCheckedContinuation { waiter in
            let isNow = state.withLock { state in
                if !state.isIdle { state.idleWaiter = waiter }
                return state.isIdle
            }
            if isNow { waiter.resume() }
        }
    }

    /// Waits until nobody does anything.
    private func quiet() async {
        await withCheckedContinuation { waiter in
            let isNow = state.withLock { state in
                if !state.isQuiet { state.quietWaiter = waiter }
                return state.isQuiet
            }
            if isNow { waiter.resume() }
        }
    }

    /// Lets those go on who wait for room or for the end of the work.
    func wake() {
        let wake = state.withLock { $0.takeWoken(settings) }
        wake()
    }

    /// Leaves what has not ended.
    private func leaveAll() -> (DrainReport, drain: Task<Void, Never>?) {
        let (left, parked, receipts, pauses, report, drain) = state.withLock { state in
            state.phase = .stopped
            state.reader = nil
            state.report.left += state.messages + state.parked.count + state.onDisk
            let receipts = state.spill.removeAll().map(\.receipt) + state.putOff.removeAll().map(\.receipt)
            let waiting = state.lanes.removeAll() + state.retries.map(\.parcel) + (state.nextAlone.map { [$0] } ?? [])
            let left = waiting + state.copies.values
            let parked = state.parked
            (state.retries, state.parked, state.copies, state.nextAlone) = ([], [:], [:], nil)
            return (left, parked, receipts, Array(state.pauses.values), state.report, state.drain)
        }
        for pause in pauses { pause.cancel() }
        for receipt in receipts { receipt.finish(nil) }
        for parcel in left {
            let progress = parcel.progress
            leave(parcel, progress)
            if let turn = progress.turn { receiver.loopGuard?.turnEnded(turn.breaker) }
        }
        for held in receiver.loopGuard?.removeHeld(where: { parked[$0.id] != nil }) ?? [] { abandon(held) }
        for parcel in parked.values { parcel.receipt.finish(nil) }
        return (report, drain)
    }
}

/// A service runs once; make another one.
public struct ServiceUsed: Error, CustomStringConvertible {
    /// What to do, in words.
    public var description: String { "a service runs once; make another one" }
}
