// Messages that nobody is to handle any more and that the dead letters had no room for.

import KiiPush
import Synchronization

/// Such a message: it waits in the durable inbox and uses no place; only this stays in memory.
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
    /// How many are read at once.
    private static let atOnce = 16

    /// Leaves a message in the inbox until the dead letters have room for it; the chain forgets that it came.
    func putOff(_ parcel: Parcel, _ progress: Parcel.Progress, _ reason: DeadLetter.Reason) {
        let putOff = PutOff(
            number: parcel.number, reason: reason, routes: receiver.openRoutes(of: progress),
            attempts: progress.attempts, cause: progress.cause, receipt: parcel.receipt)
        forget(progress)
        let due = clock.now.advanced(by: pauseOfLetters)
        let wake = state.withLock { state in
            state.putOff.append(putOff)
            state.storeAgainAt = state.storeAgainAt ?? due
            state.lanes.release(parcel)
            state.vacate(parcel)
            return state.takeWoken(settings)
        }
        wakeTimer(by: due)
        startWork()
        wake()
    }

    private var pauseOfLetters: Duration { max(delivery.withLock { $0.maxBackoff }, .seconds(1)) }

    /// Tries again to put aside what is due, in a task of its own.
    func storeAgain(_ now: MonotonicInstant) {
        let isDue = state.withLock { state in
            guard state.isRunning, let due = state.storeAgainAt, due <= now else { return false }
            state.storeAgainAt = nil
            return true
        }
        if isDue { startEnding { await self.storeNext() } }
    }

    /// Puts one after another aside, until there is no room again.
    private func storeNext() async {
        while true {
            let some: [PutOff] = state.withLock { state in
                guard state.isRunning else { return [] }
                return (0..<Self.atOnce).compactMap { _ in state.putOff.popFirst() }
            }
            if some.isEmpty { return }
            let left = await store(some)
            if left.isEmpty { continue }
            let due = clock.now.advanced(by: pauseOfLetters)
            state.withLock { state in
                state.putOff.putFirst(left)
                state.storeAgainAt = state.storeAgainAt ?? due
            }
            return wakeTimer(by: due)
        }
    }

    /// Puts messages aside; returns those that there is no room for.
    private func store(_ some: [PutOff]) async -> [PutOff] {
        var entries: [UInt64: InboxEntry] = [:]
        do {
            for entry in try inbox.entries(of: some.map(\.number)) { entries[entry.id] = entry }
        } catch {
            tell(.storeFailed("payloads that wait in the inbox could not be read: \(error)"))
            return some
        }
        for (index, putOff) in some.enumerated() {
            guard let entry = entries[putOff.number],
                let message = try? PushMessage(entry.payload, limits: receiver.limits)
            else {
                putOff.receipt.finish(nil)
                continue
            }
            let routed = receiver.prepare(message)
            let outcome = receiver.deadLetter(
                routed, putOff.reason, putOff.routes, attempts: putOff.attempts, cause: putOff.cause,
                inboxID: putOff.number)
            if case .failed(let failure) = outcome {
                tell(.storeFailed("a message could not be put among the dead letters: \(failure.error)"))
                return Array(some[index...])
            }
            let end = putOff.reason == .quarantined ? Outcome.quarantined : outcome
            receiver.conclude(routed, end, 0)
            putOff.receipt.finish(await record(.ended(putOff.number)) ? end : nil)
        }
        return []
    }
}
