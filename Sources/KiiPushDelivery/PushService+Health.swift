// Which stores fail now: each call shows it, and a health check asks.

import Synchronization

/// A use of a store by a service; the one that accepts payloads first.
enum StoreUse: Int {
    case adding, recording, reading, deadLetters
}

extension PushService {
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
            let isKnown = state.withLock { $0.failures[.adding] != nil }
            fails(.adding, "the inbox cannot store payloads: \(error)", isTold: !isKnown)
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

    /// Records that a call of a store did not fail; after a failure, what waits to be tried again is tried now, unless
    /// it failed after such a try.
    func works(_ use: StoreUse) {
        guard isFailing.load(ordering: .relaxed) else { return }
        let pauses = change { state in
            guard state.failures.removeValue(forKey: use) != nil else { return [Task<Void, Never>]() }
            isFailing.store(!state.failures.isEmpty, ordering: .relaxed)
            return state.pauses.values.filter { !$0.isFirm }.map(\.task)
        }
        for pause in pauses { pause.cancel() }
    }
}
