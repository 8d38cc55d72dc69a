// Recording in the inbox what becomes of a message, however often that takes.

import KiiPush

extension PushService {
    /// Records something in the inbox; tries again until it is written, or false when the service has stopped.
    func record(_ records: InboxRecord...) async -> Bool { await record(records) }

    /// Records things in the inbox, all in one step; tries again as for one.
    func record(_ records: [InboxRecord]) async -> Bool {
        guard isDurable, !records.isEmpty else { return true }
        var length = Duration.milliseconds(100)
        while true {
            do {
                try await inbox.record(records)
                return true
            } catch {
                tell(.storeFailed("the inbox could not take down what became of a message: \(error)"))
            }
            guard await pause(length) else { return false }
            length = min(length * 2, .seconds(10))
        }
    }

    /// Waits; false when the service has stopped.
    func pause(_ length: Duration) async -> Bool {
        let (clock, end) = (clock, clock.now.advanced(by: length))
        let pause: (number: UInt64, task: Task<Void, Never>)? = change { state in
            guard state.phase != .stopped else { return nil }
            state.lastPause += 1
            let task = start { _ = try? await clock.sleep(until: end) }
            state.pauses[state.lastPause] = task
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
