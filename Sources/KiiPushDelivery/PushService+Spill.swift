// What waits in a durable inbox without a place: reading it back, and ending what cannot wait.

import KiiPush
import Synchronization

extension PushService {
    // MARK: Reading

    /// Reads payloads back whose turn it is.
    func read(_ items: [Spill.Item]) { start { await self.readBack(items) } }

    private func readBack(_ items: [Spill.Item]) async {
        var entries: [UInt64: InboxEntry] = [:]
        do {
            for entry in try inbox.entries(of: items.map(\.number)) { entries[entry.id] = entry }
        } catch {
            return await putBack(items, error)
        }
        var (parcels, gone): ([Parcel], [Spill.Item]) = ([], [])
        for item in items {
            do throws(DecodeError) {
                guard let entry = entries[item.number] else {
                    gone.append(item)
                    continue
                }
                let message = try PushMessage(entry.payload, limits: receiver.limits)
                parcels.append(parcel(entry, receiver.prepare(message), item))
            } catch {
                gone.append(item)
                if let entry = entries[item.number] { await endUndecodable(entry, error) }
                item.receipt.finish(.undecodable(error))
            }
        }
        let wake = state.withLock { state in
            state.spill.haveRead(items)
            for item in gone { state.places.leave(item.keys, item.bytes) }
            for parcel in parcels {
                parcel.hasPlace.store(true, ordering: .relaxed)
                state.queue(parcel)
            }
            (state.isReading, state.readPause) = (false, .zero)
            state.ending -= 1
            return state.takeWoken(settings)
        }
        for item in gone { item.receipt.finish(nil) }
        startWork()
        wake()
    }

    /// Puts payloads back that could not be read, and tries again after a pause.
    private func putBack(_ items: [Spill.Item], _ error: any Error) async {
        tell(.storeFailed("payloads that wait in the inbox could not be read: \(error)"))
        let (length, wake) = state.withLock { state in
            state.spill.putBack(items, &state.places)
            state.ending -= 1
            state.readPause = min(max(state.readPause * 2, .milliseconds(100)), .seconds(10))
            return (state.readPause, state.takeWoken(settings))
        }
        wake()
        guard await pause(length) else { return }
        let again = state.withLock { state in
            state.isReading = false
            return state.takeWoken(settings)
        }
        again()
    }

    // MARK: Ending

    /// Ends what found neither a place nor room without one, and what it replaces.
    func end(_ parcel: Parcel, _ answer: Spill.Answer) {
        switch answer {
        case .refused: startEnding { await self.putAsideUnplaced(parcel) }
        case .waits(let replaced): startEnding { await self.endReplaced(replaced) }
        case .superseded(let replaced):
            startEnding { await self.endReplaced(replaced + [Spill.Item(parcel)]) }
        }
    }

    private func putAsideUnplaced(_ parcel: Parcel) async {
        let progress = parcel.progress
        // Nobody would handle it, now or later.
        if progress.message.routes.isEmpty {
            _ = await conclude(parcel, progress, .unrouted(.noRoute))
        } else {
            _ = await putAside(parcel, progress, .backlogFull)
        }
        state.withLock { $0.putAside -= 1 }
    }

    /// Ends changes of an object that a newer one has replaced while they waited, which the chain never knew.
    private func endReplaced(_ items: [Spill.Item]) async {
        guard await record(items.map { .ended($0.number) }) else {
            for item in items { item.receipt.finish(nil) }
            return
        }
        for item in items {
            receiver.counters.count(.superseded)
            item.receipt.finish(.superseded)
        }
    }
}
