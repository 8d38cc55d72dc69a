/// The breakers of one table that a store has, and the changes that are not written yet.
///
/// Bounded by both sides: a breaker to be stored is open here, and one to be removed is in the store.
struct BreakerChanges {
    private enum Change {
        case opened(TrippedBreaker)
        case closed
    }

    /// The changes of one write.
    struct Batch {
        var opened: [TrippedBreaker] = []
        var closed: [TrippedBreaker.Key] = []

        var isEmpty: Bool { opened.isEmpty && closed.isEmpty }
    }

    private let isWide: Bool
    /// Whether there is a store.
    private var isKept = false
    private var waiting: [ResourceKey: Change] = [:]
    private var taken: [ResourceKey: Change] = [:]
    private var stored: Set<ResourceKey> = []
    /// Whether something has changed since the last attempt to write.
    private(set) var isNew = false

    init(isWide: Bool) { self.isWide = isWide }

    /// Whether a change is not written yet.
    var isWaiting: Bool { !waiting.isEmpty }

    /// Starts to record changes, given the breakers that the store has already.
    mutating func begin(stored keys: some Sequence<ResourceKey>) {
        isKept = true
        stored = Set(keys)
    }

    mutating func opened(_ key: ResourceKey, until end: Int64, coolDown: Int64) {
        guard isKept else { return }
        waiting[key] = .opened(
            TrippedBreaker(
                key: name(key), coolDown: .nanoseconds(coolDown), until: MonotonicInstant(nanoseconds: end)))
        isNew = true
    }

    mutating func closed(_ key: ResourceKey) {
        guard isKept else { return }
        if stored.contains(key) || taken[key] != nil {
            waiting[key] = .closed
            isNew = true
        } else {
            waiting[key] = nil
        }
    }

    /// Takes the unwritten changes; call ``ended(isWritten:)`` before the next call.
    mutating func take() -> Batch {
        isNew = false
        (taken, waiting) = (waiting, [:])
        var batch = Batch()
        for (key, change) in taken {
            switch change {
            case .opened(let breaker): batch.opened.append(breaker)
            case .closed: batch.closed.append(name(key))
            }
        }
        return batch
    }

    /// Called when the taken changes were written or not; if not, they wait again, unless a newer change does.
    mutating func ended(isWritten: Bool) {
        for (key, change) in taken {
            if isWritten {
                if case .opened = change { stored.insert(key) } else { stored.remove(key) }
            } else if waiting[key] == nil {
                waiting[key] = change
            } else if case .closed? = waiting[key], !stored.contains(key) {
                waiting[key] = nil
            }
        }
        taken = [:]
    }

    /// Leaves the waiting changes for a later attempt.
    mutating func postpone() { isNew = false }

    private func name(_ key: ResourceKey) -> TrippedBreaker.Key {
        TrippedBreaker.Key(isWide: isWide, digest: key.digest)
    }
}
