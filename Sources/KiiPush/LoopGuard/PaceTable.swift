/// The paces of all recent keys, found in constant time and forgotten a few at a time, and what is reported of them.
struct PaceTable {
    /// How many seconds lie between two reports of a key.
    static let reportPause = 60.0

    /// What is remembered of a key that has let a message wait.
    private struct Record {
        let level: PacedKey.Level
        let route: String
        let subject: String
        let since: Double
        var superseded = 0
        /// The time of the newest change that was told to ask again.
        var newest = Int64.min
    }

    private let capacity: Int
    private var entries: [(key: ResourceKey, pace: Pace, limits: Pace.Limits)] = []
    /// The indices in `entries` that are free again.
    private var free: [UInt32] = []
    private var indices = DigestTable()
    /// The index of each entry once, so that each is checked in turn and forgotten if it is idle.
    private var queue = ShortQueue<UInt32>()
    /// Where a key was found last, since the next message may have the same.
    private var last = UInt32.max
    private var records: [UInt32: Record] = [:]
    /// The keys that have just begun to let messages wait, until they are reported.
    private var news: [UInt32] = []

    init(capacity: Int) { self.capacity = capacity }

    /// The index of a key's pace, made if it is new; nil if the capacity is used up by keys that are paced.
    mutating func index(of key: ResourceKey, _ limits: Pace.Limits, _ now: Double) -> UInt32? {
        if last != .max, entries[Int(last)].key == key { return last }
        guard let index = find(key) ?? make(key, limits, now) else { return nil }
        last = index
        return index
    }

    private mutating func make(_ key: ResourceKey, _ limits: Pace.Limits, _ now: Double) -> UInt32? {
        forgetIdle(now)
        guard queue.count < capacity || makeRoom() else { return nil }
        let index = free.popLast() ?? UInt32(entries.count)
        let entry = (key, Pace(limits, now: now), limits)
        if index < entries.count { entries[Int(index)] = entry } else { entries.append(entry) }
        indices.insert(key.digest, index)
        queue.append(index)
        return index
    }

    /// The index of a key's pace, if there is one.
    func find(_ key: ResourceKey) -> UInt32? { indices.first(of: key.digest) { _ in true } }

    /// The key at an index.
    func key(at index: UInt32) -> ResourceKey { entries[Int(index)].key }

    /// The pace at an index, which is that of its key until a further key is looked up.
    subscript(index: UInt32) -> Pace {
        get { entries[Int(index)].pace }
        _modify { yield &entries[Int(index)].pace }
    }

    // MARK: Forgetting

    /// Forgets up to two idle keys for each new one, so that old keys disappear over time.
    private mutating func forgetIdle(_ now: Double) {
        for _ in 0..<2 {
            guard let index = queue.popFirst() else { return }
            // A key that was just reported must not be reported again at once.
            let isReported = records[index].map { now - $0.since < Self.reportPause } ?? false
            let isIdle = entries[Int(index)].pace.isIdle(now, entries[Int(index)].limits)
            if isIdle, !isReported { forget(index) } else { queue.append(index) }
        }
    }

    /// Forgets a key that still counts and for which nothing waits; checks eight, and gives up if all of them are paced
    /// or waited for.
    private mutating func makeRoom() -> Bool {
        for _ in 0..<8 {
            guard let index = queue.popFirst() else { return true }
            let pace = entries[Int(index)].pace
            if pace.isPlain, pace.waiting == 0 {
                forget(index)
                return true
            }
            queue.append(index)
        }
        return false
    }

    private mutating func forget(_ index: UInt32) {
        last = .max
        indices.remove(entries[Int(index)].key.digest, index)
        if !records.isEmpty { records[index] = nil }
        free.append(index)
    }

    // MARK: Reports

    /// Records that a message was told to wait.
    mutating func record(
        _ index: UInt32, _ level: PacedKey.Level, _ message: PushMessage, _ route: Route, _ now: Double
    ) {
        if records[index].map({ self[index].waiting == 1 && now - $0.since >= Self.reportPause }) ?? true {
            records[index] = Record(level: level, route: route.id, subject: message.paceSubject, since: now)
            news.append(index)
        }
        if level == .object, let time = message.serverTime, let newest = records[index]?.newest {
            records[index]?.newest = max(time, newest)
        }
    }

    /// Counts a change that a newer one replaced while it waited.
    mutating func supersede(_ index: UInt32) { records[index]?.superseded += 1 }

    /// Whether a message's time compares so with that of the newest change of its key that was told to ask again.
    func compares(_ message: PushMessage, _ index: UInt32, _ order: (Int64, Int64) -> Bool) -> Bool {
        guard !records.isEmpty, let newest = records[index]?.newest, let time = message.serverTime else { return false }
        return order(time, newest)
    }

    /// Whether no key has let a message wait.
    var hasNoRecords: Bool { records.isEmpty }

    /// The keys whose messages wait now.
    func paced(_ now: Double) -> [PacedKey] {
        records.keys.filter { self[$0].isLimiting(now, entries[Int($0)].limits) }.compactMap(snapshot)
    }

    var hasNews: Bool { !news.isEmpty }

    /// Takes the keys that have just begun to let messages wait.
    mutating func takeNews() -> [PacedKey] {
        defer { news = [] }
        return news.compactMap(snapshot)
    }

    private func snapshot(_ index: UInt32) -> PacedKey? {
        records[index].map { record in
            PacedKey(
                level: record.level, route: record.route, subject: record.subject,
                since: MonotonicInstant(seconds: record.since), waiting: self[index].waiting,
                superseded: record.superseded)
        }
    }
}

extension PushMessage {
    /// What it is about, for a report: its object or topic, else its kind.
    fileprivate var paceSubject: String {
        if let object { return object.uri.description }
        return PushToUserMessage(self)?.topic?.uri.description ?? kind.description
    }
}
