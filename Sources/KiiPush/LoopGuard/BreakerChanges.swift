/// What a store has of the breakers of one table, and what it is still to be told.
///
/// Bounded by both: what waits to be opened there is open here, and what waits to be closed is open there.
struct BreakerChanges {
    private enum Change {
        case opened(TrippedBreaker)
        case closed
    }

    /// What one write tells.
    struct Batch {
        var opened: [TrippedBreaker] = []
        var closed: [TrippedBreaker.Key] = []

        var isEmpty: Bool { opened.isEmpty && closed.isEmpty }
    }

    private let isWide: Bool
    /// Whether there is a store at all.
    private var isKept = false
    private var waiting: [ResourceKey: Change] = [:]
    private var taken: [ResourceKey: Change] = [:]
    private var stored: Set<ResourceKey> = []
    /// Whether something has changed since it was last tried to write.
    private(set) var isNew = false

    init(isWide: Bool) { self.isWide = isWide }

    /// Whether something is still to be told.
    var isWaiting: Bool { !waiting.isEmpty }

    /// Begins to keep book, of breakers that the store has already.
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

    /// Takes out what is to be told; nothing more may be taken until ``ended(isWritten:)`` says how that went.
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

    /// Learns whether what was taken is in the store; else it waits on, unless something newer does.
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

    /// Leaves what waits for a later try.
    mutating func postpone() { isNew = false }

    private func name(_ key: ResourceKey) -> TrippedBreaker.Key {
        TrippedBreaker.Key(isWide: isWide, digest: key.digest)
    }
}
