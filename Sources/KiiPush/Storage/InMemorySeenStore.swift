import Synchronization

/// A seen store that lives as long as the process.
///
/// Every call takes constant time: at most a few keys whose time is over are forgotten along the way. Memory follows
/// use: nothing is set aside for a window that is not full.
public final class InMemorySeenStore: SeenStore {
    private let state: Mutex<SeenTable>

    /// Makes an empty store.
    public init(window: SeenWindow = .standard) { state = Mutex(SeenTable(window)) }

    /// Asks for a message and reserves it if it is new.
    public func begin(_ keys: DedupeKeys, now: MonotonicInstant) -> SeenState {
        state.withLock { $0.begin(keys, now) }
    }

    /// Remembers a message as handled.
    public func commit(_ lease: SeenLease, now: MonotonicInstant) { state.withLock { $0.commit(lease, now) } }

    /// Forgets a reservation.
    public func release(_ lease: SeenLease) { state.withLock { $0.release(lease) } }

    /// Whether a lease has neither been confirmed nor undone.
    public func isInFlight(_ lease: SeenLease) -> Bool { state.withLock { $0.isInFlight(lease) } }

    /// How many messages were forgotten by count although their time was not over: a sign of too small a window.
    public var evictedEarly: Int { state.withLock { $0.strong.evictedEarly + $0.weak.evictedEarly } }
}

/// What an in-memory seen store knows: a state machine without a clock of its own.
struct SeenTable {
    private var inFlight: [DedupeKey: UInt64] = [:]
    private var lastLease: UInt64 = 0
    private(set) var strong: KeyWindow
    private(set) var weak: KeyWindow

    init(_ window: SeenWindow) {
        strong = KeyWindow(age: window.age, count: window.count)
        weak = KeyWindow(age: window.weakAge, count: window.count)
    }

    mutating func begin(_ keys: DedupeKeys, _ now: MonotonicInstant) -> SeenState {
        if contains(keys.primary, keys.strength, now) { return .done }
        if let second = keys.secondary, contains(second, keys.strength, now) { return .done }
        if let lease = inFlight[keys.primary] ?? keys.secondary.flatMap({ inFlight[$0] }) {
            return .inFlight(SeenLease(number: lease, keys: keys))
        }
        lastLease += 1
        inFlight[keys.primary] = lastLease
        if let second = keys.secondary { inFlight[second] = lastLease }
        return .fresh(SeenLease(number: lastLease, keys: keys))
    }

    private mutating func contains(_ key: DedupeKey, _ strength: DedupeKeys.Strength, _ now: MonotonicInstant) -> Bool {
        strength == .strong ? strong.contains(key, now) : weak.contains(key, now)
    }

    mutating func commit(_ lease: SeenLease, _ now: MonotonicInstant) {
        guard end(lease) else { return }
        switch lease.keys.strength {
        case .strong: strong.insert(lease.keys, now)
        case .weak: weak.insert(lease.keys, now)
        }
    }

    mutating func release(_ lease: SeenLease) { _ = end(lease) }

    /// Whether any key is still reserved under the lease; the keys of a duplicate may be only some of the first's.
    func isInFlight(_ lease: SeenLease) -> Bool {
        inFlight[lease.keys.primary] == lease.number
            || lease.keys.secondary.map { inFlight[$0] == lease.number } == true
    }

    private mutating func end(_ lease: SeenLease) -> Bool {
        guard inFlight[lease.keys.primary] == lease.number else { return false }
        inFlight[lease.keys.primary] = nil
        if let second = lease.keys.secondary { inFlight[second] = nil }
        return true
    }
}

/// Handled messages in the order in which they were handled, forgotten by age and by count.
struct KeyWindow {
    private struct Entry {
        let keys: DedupeKeys
        let time: MonotonicInstant
    }

    private let age: Duration
    private let limit: Int
    private var times: [DedupeKey: MonotonicInstant] = [:]
    private var queue = ChunkedQueue<Entry>()
    private(set) var evictedEarly = 0

    init(age: Duration, count: Int) {
        self.age = age
        limit = count
    }

    mutating func contains(_ key: DedupeKey, _ now: MonotonicInstant) -> Bool {
        forgetOld(now)
        // What is too old may still lie in the queue, since only a few are taken out at a time.
        return times[key].map { now < $0.advanced(by: age) } ?? false
    }

    mutating func insert(_ keys: DedupeKeys, _ now: MonotonicInstant) {
        forgetOld(now)
        queue.append(Entry(keys: keys, time: now))
        times[keys.primary] = now
        if let second = keys.secondary { times[second] = now }
        if queue.count > limit {
            if let first = queue.first, now < first.time.advanced(by: age) { evictedEarly += 1 }
            forgetFirst()
        }
    }

    /// Forgets up to two messages that are too old: twice as many as can come in, so none stays for long.
    private mutating func forgetOld(_ now: MonotonicInstant) {
        for _ in 0..<2 {
            guard let first = queue.first, now >= first.time.advanced(by: age) else { return }
            forgetFirst()
        }
    }

    private mutating func forgetFirst() {
        guard let entry = queue.popFirst() else { return }
        // A key that was handled again since then has a later time, and stays for that.
        if times[entry.keys.primary] == entry.time { times[entry.keys.primary] = nil }
        if let second = entry.keys.secondary, times[second] == entry.time { times[second] = nil }
    }
}

/// A first-in, first-out queue in pieces, so that growing never moves what is in it.
struct ChunkedQueue<Element> {
    private static var chunkSize: Int { 512 }
    private var chunks: [[Element]] = []
    private var head = 0
    private(set) var count = 0

    var first: Element? { count == 0 ? nil : chunks[0][head] }

    mutating func append(_ element: Element) {
        if chunks.last.map({ $0.count == Self.chunkSize }) ?? true {
            chunks.append([])
            chunks[chunks.count - 1].reserveCapacity(Self.chunkSize)
        }
        chunks[chunks.count - 1].append(element)
        count += 1
    }

    mutating func popFirst() -> Element? {
        guard let element = first else { return nil }
        head += 1
        count -= 1
        if head == chunks[0].count {
            chunks.removeFirst()
            head = 0
        }
        return element
    }
}
