/// The paces of all recent keys, found in constant time and forgotten a few at a time, and what is reported of them.
struct PaceTable {
    /// How many seconds lie between two reports of a key.
    static let reportPause = 60.0

    private let capacity: Int
    /// Whether its keys are those of all new keys together, and not those of a message's resource.
    private let isShared: Bool
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

    init(capacity: Int, isShared: Bool = false) { (self.capacity, self.isShared) = (capacity, isShared) }

    /// The index of a key's pace, made if it is new; nil if the capacity is used up by keys that are paced.
    mutating func index(of key: PaceKey, _ now: Double) -> UInt32? {
        if last != .max, entries[Int(last)].key.id == key.id { return last }
        guard let index = find(key) ?? make(key, now) else { return nil }
        last = index
        return index
    }

    private mutating func make(_ key: PaceKey, _ now: Double) -> UInt32? {
        forgetIdle(now)
        guard queue.count < capacity || makeRoom() else { return nil }
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

    // MARK: The keys of a message

    /// Calls `body` with the pace of each of a message's routes, once if they share it; one that is new is made if
    /// `now` is given, else left out.
    mutating func each(
        _ message: RoutedMessage, makingAt now: Double? = nil, _ body: (inout PaceTable, UInt32, PaceKey, Route) -> Void
    ) {
        var hasDevice = false
        for route in message.routes where !route.isUnlimited {
            let key = isShared ? route.newKeys : PaceKey(message.message, at: message.place, for: route)
            if key.level == .device, hasDevice { continue }
            hasDevice = hasDevice || key.level == .device
            let index = if let now { self.index(of: key, now) } else { find(key) }
            if let index { body(&self, index, key, route) }
        }
    }

    /// What the paces of a message's routes have answered: it passes all of them, or none.
    struct Answers {
        /// What let it pass; if they differ, the first of the sources.
        fileprivate(set) var source = Pace.Source.rate
        /// When it may ask again; nil if all that were asked let it pass.
        fileprivate(set) var until: Double?
        /// Those that let it pass, as they were before.
        fileprivate var passed: [(key: PaceKey, before: Pace)] = []
    }

    /// Asks all paces of a message, also after one that lets it wait: each would listen alone, one after another.
    mutating func ask(_ message: RoutedMessage, _ offset: Double) -> Answers {
        var answers = Answers()
        each(message, makingAt: message.time) { table, index, key, route in
            let before = table[index]
            switch table[index].ask(message.time, key.limits, offset) {
            case .now(let source):
                answers.source = min(answers.source, source)
                answers.passed.append((key, before))
            case .later(let time):
                answers.until = max(answers.until ?? time, time)
                table.record(index, message, route)
            }
        }
        return answers
    }

    /// Takes back that a message passed.
    mutating func undo(_ answers: Answers) {
        for (key, before) in answers.passed {
            // In a full table, the key of a later route may have taken its place.
            if let index = find(key) { self[index] = before }
        }
    }

    // MARK: Forgetting

    /// Forgets up to two idle keys for each new one, so that old keys disappear over time.
    private mutating func forgetIdle(_ now: Double) {
        for _ in 0..<2 {
            guard let index = queue.popFirst() else { return }
            let (key, pace) = entries[Int(index)]
            // A key that was just reported must not be reported again at once.
            if pace.isIdle(now, key.limits), !isReported(index, now) { forget(index) } else { queue.append(index) }
        }
    }

    /// Forgets a key that still counts and for which nothing waits; checks eight, and gives up if all of them are paced
    /// or waited for.
    private mutating func makeRoom() -> Bool {
        for _ in 0..<8 {
            guard let index = queue.popFirst() else { return true }
            if self[index].isPlain, self[index].waiting == 0 {
                forget(index)
                return true
            }
            queue.append(index)
        }
        return false
    }

    private mutating func forget(_ index: UInt32) {
        last = .max
        indices.remove(entries[Int(index)].key.id.digest, index)
        if !records.isEmpty { records[index] = nil }
        free.append(index)
    }

    // MARK: Reports

    /// Records that a message was told to wait.
    private mutating func record(_ index: UInt32, _ message: RoutedMessage, _ route: Route) {
        let (now, level) = (message.admittedAt, entries[Int(index)].key.level)
        if records[index] == nil || self[index].waiting == 1 && !isReported(index, now.seconds) {
            let key = PacedKey(
                level: level, route: route.id, subject: message.message.paceSubject, since: now, waiting: 0)
            records[index] = (key, .min)
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

    /// Whether a message's time compares so with that of the newest change of its key that was told to ask again.
    func compares(_ message: PushMessage, _ index: UInt32, _ order: (Int64, Int64) -> Bool) -> Bool {
        guard !records.isEmpty, let newest = records[index]?.newest, let time = message.serverTime else { return false }
        return order(time, newest)
    }

    var hasNoRecords: Bool { records.isEmpty }
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
