// Records the progress of messages in the inbox, with retries.

import KiiPush

extension PushService {
    /// Writes records to the inbox; retries until they are written, and returns false if the service has stopped.
    func record(_ records: InboxRecord...) async -> Bool { await record(records) }

    /// Writes records to the inbox, all in one step; retries until they are written, and returns false if the service
    /// has stopped.
    func record(_ records: [InboxRecord]) async -> Bool {
        // An inbox in memory keeps nothing but answers.
        guard isDurable ? !records.isEmpty : records.contains(where: \.isOfAnswer) else { return true }
        var (length, wasCut) = (Duration.milliseconds(100), false)
        while true {
            do {
                try await inbox.record(records)
                works(.recording)
                return true
            } catch {
                fails(.recording, "the inbox could not record the outcome of a message: \(error)")
            }
            let end = clock.now.advanced(by: length)
            // Others may succeed again and again, where this one does not.
            guard await pause(length, isFirm: wasCut) else { return false }
            wasCut = clock.now < end
            length = min(length * 2, .seconds(10))
        }
    }

    /// Waits; returns false if the service has stopped.
    ///
    /// Unless the pause `isFirm`, it ends when a store works again.
    func pause(_ length: Duration, isFirm: Bool = false) async -> Bool {
        let (clock, end) = (clock, clock.now.advanced(by: length))
        let pause: (number: UInt64, task: Task<Void, Never>)? = change { state in
            guard state.phase != .stopped else { return nil }
            state.lastPause += 1
            let task = start { _ = try? await clock.sleep(until: end) }
            state.pauses[state.lastPause] = (task, isFirm)
            return (state.lastPause, task)
        }
        guard let pause else { return false }
        await pause.task.value
        return change { state in
            state.pauses[pause.number] = nil
            return state.phase != .stopped
        }
    }
}
