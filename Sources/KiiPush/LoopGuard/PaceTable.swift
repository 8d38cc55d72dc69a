/// The paces of all recent keys, found in constant time and forgotten a few at a time, and what is reported of them.
struct PaceTable {
    /// How many seconds lie between two reports of a key.
    static let reportPause = 60.0

    private let capacity: Int
    private var entries: [(key: PaceKey, pace: Pace)] = []
    /// The indices in `entries` that are free again.
    private var free: [UInt32] = []
    private var indices = DigestTable()
    /// The index of each entry once, so that each is checked in turn and forgotten if it is idle.
    private var queue = ShortQueue<UInt32>()
    /// Where a key was found last, since the next message may have the same.
    private var last = UInt32.max
    /// The keys that have let a message wait, and of each the time of the newest change that was told to ask again.
    private var records: [UInt32: (key: PacedKey, newest: Int64)] = [:]
    /// The keys that have just begun to let messages wait, until they are reported.
    private var news: [UInt32] = []

    init(capacity: Int) { self.capacity = capacity }

    /// The index of a key's pace, made if it is new; nil if the capacity is used up by keys that are paced.
    mutating func index(of key: PaceKey, _ now: Double) -> UInt32? {
        if last != .max, entries[Int(last)].key.id == key.id { return last }
        guard let index = find(key) ?? make(key, now) else { return nil }
        last = index
        return index
    }

    private mutating func make(_ key: PaceKey, _ now: Double) -> UInt32? {
        guard makeRoom(now) else { return nil }
        let index = free.popLast() ?? UInt32(entries.count)
        let entry = (key, Pace(key.limits, now: now))
        if index < entries.count { entries[Int(index)] = entry } else { entries.append(entry) }
        indices.insert(key.id.digest, index)
        queue.append(index)
        return index
    }

    /// The index of a key's pace, if there is one.
    func find(_ key: PaceKey) -> UInt32? { indices.first(of: key.id.digest) { _ in true } }

    /// The pace at an index, which is that of its key until a further key is looked up.
    subscript(index: UInt32) -> Pace {
        get { entries[Int(index)].pace }
        _modify { yield &entries[Int(index)].pace }
    }

    // MARK: Forgetting

    /// Forgets keys for a new one; returns whether there is room for it.
    ///
    /// Two are checked, and forgotten if they are idle, so that old keys disappear over time. At the capacity, it is up
    /// to eight, until one is forgotten: one that still counts, too, unless it is paced or something waits for it.
    private mutating func makeRoom(_ now: Double) -> Bool {
        let isFull = queue.count >= capacity
        for _ in 0..<(isFull ? 8 : 2) {
            guard let index = queue.popFirst() else { return true }
            let (key, pace) = entries[Int(index)]
            let isUnused = pace.isPlain && pace.waiting == 0
            // A key that was just reported must not be reported again at once.
            guard isFull && isUnused || pace.isIdle(now, key.limits) && !isReported(index, now) else {
                queue.append(index)
                continue
            }
            indices.remove(key.id.digest, index)
            records[index] = nil
            free.append(index)
            if isFull { return true }
        }
        return !isFull
    }

    // MARK: Reports

    /// Records that a message was told to wait.
    mutating func record(_ index: UInt32, _ message: RoutedMessage) {
        let (now, level) = (message.admittedAt, entries[Int(index)].key.level)
        if records[index] == nil || self[index].waiting == 1 && !isReported(index, now.seconds) {
            let (route, subject) = (message.routes.slowest?.id ?? "", message.message.paceSubject)
            records[index] = (PacedKey(level: level, route: route, subject: subject, since: now, waiting: 0), .min)
            news.append(index)
        }
        if level == .object, let time = message.message.serverTime, let newest = records[index]?.newest {
            records[index]?.newest = max(time, newest)
        }
    }

    private func isReported(_ index: UInt32, _ now: Double) -> Bool {
        records[index].map { now - $0.key.since.seconds < Self.reportPause } ?? false
    }

    /// Counts a change that a newer one replaced while it waited.
    mutating func supersede(_ index: UInt32) { records[index]?.key.superseded += 1 }

    /// Whether a newer change of a message's key was told to ask again.
    func hasNewer(_ message: PushMessage, _ index: UInt32) -> Bool {
        guard let newest = records[index]?.newest, let time = message.serverTime else { return false }
        return time < newest
    }

    var hasNews: Bool { !news.isEmpty }

    /// The keys whose messages wait now.
    func paced(_ now: Double) -> [PacedKey] {
        records.keys.filter { self[$0].isLimiting(now, entries[Int($0)].key.limits) }.compactMap(snapshot)
    }

    /// Takes the keys that have just begun to let messages wait.
    mutating func takeNews() -> [PacedKey] {
        defer { news = [] }
        return news.compactMap(snapshot)
    }

    private func snapshot(_ index: UInt32) -> PacedKey? {
        var key = records[index]?.key
        key?.waiting = self[index].waiting
        return key
    }
}

extension RoutedMessage {
    /// When it is judged, in seconds.
    var time: Double { admittedAt.seconds }
}

extension PushMessage {
    /// What it is about, for a report: its object or topic, else its kind.
    fileprivate var paceSubject: String {
        if let object { return object.uri.description }
        return PushToUserMessage(self)?.topic?.uri.description ?? kind.description
    }
}
