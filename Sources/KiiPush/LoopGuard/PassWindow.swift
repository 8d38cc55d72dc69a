/// Counts the messages that passed within a window of time.
///
/// Exact for up to 256 messages; beyond that, those that pass within 1/256 of the window share one mark, so that memory
/// follows use and not the setting: at most 257 marks. The latest mark is stored inline, so a key that is seen once
/// needs no allocation.
struct PassWindow {
    private struct Mark {
        var time: Int64 = .min
        var count = 0
    }

    private static let mostMarks = 256

    private var latest = Mark()
    private var older: [Mark] = []
    private var head = 0
    /// The number of messages of all marks.
    private var total = 0
    /// When the first of them passed.
    ///
    /// A copy, because reading the marks is a cache miss if a thousand keys take turns (measured after some seconds of
    /// traffic: 100 ns).
    private var earliest: Int64 = .max

    /// How many passed in the `span` that ends at `now`.
    mutating func count(_ span: Int64, _ now: Int64) -> Int {
        let end = now.since(span)
        if earliest <= end { forget(upTo: end) }
        return total
    }

    /// How many of the counted messages passed after `time`, and when the first of them did; `time` if there is none.
    func count(since time: Int64) -> (count: Int, first: Int64) {
        var (count, first) = (0, time)
        if latest.count > 0, latest.time > time { (count, first) = (latest.count, latest.time) }
        var index = older.count
        while index > head, older[index - 1].time > time {
            index -= 1
            count += older[index].count
            first = older[index].time
        }
        return (count, first)
    }

    /// Counts a message.
    mutating func add(_ now: Int64, _ span: Int64, limit: Int) {
        let step = limit > Self.mostMarks ? span / Int64(Self.mostMarks) : 0
        // If the clock did not advance, or a later call came first, the message counts at the latest known time.
        if latest.count > 0, now <= latest.time || now.since(latest.time) <= step {
            latest.count += 1
        } else {
            if latest.count > 0 { older.append(latest) }
            latest = Mark(time: now, count: 1)
        }
        if total == 0 { earliest = latest.time }
        total += 1
    }

    /// Subtracts a message that passed and was not handled: the latest, which is the last to expire.
    mutating func takeBack() {
        guard latest.count > 0 else { return }
        total -= 1
        if total == 0 { earliest = .max }
        latest.count -= 1
        guard latest.count == 0 else { return }
        if older.count > head, let last = older.popLast() { latest = last }
        tidy()
    }

    private mutating func forget(upTo time: Int64) {
        while head < older.count, older[head].time <= time {
            total -= older[head].count
            head += 1
        }
        if head == older.count, latest.time <= time {
            total = 0
            latest = Mark()
        }
        earliest = head < older.count ? older[head].time : total > 0 ? latest.time : .max
        tidy()
    }

    /// Frees the memory of forgotten marks, in amortised constant time.
    private mutating func tidy() {
        if head == older.count {
            if head > 0 { older.removeAll(keepingCapacity: true) }
        } else if head > 32, head * 2 >= older.count {
            older.removeFirst(head)
        } else {
            return
        }
        head = 0
    }
}

extension RateLimit {
    /// Whether another message may pass.
    func lets(_ passes: inout PassWindow, _ now: Int64) -> Bool {
        passes.count(slowSpan, now) < slowMessages && passes.count(since: now.since(span)).count < messages
    }

    /// The pace at which the limit was reached, in messages a second.
    func pace(_ passes: PassWindow, _ now: Int64) -> Double {
        let fast = passes.count(since: now.since(span))
        let (count, first) = fast.count >= messages ? fast : passes.count(since: now.since(slowSpan))
        return Double(count) / max(Double(now.since(first)) / 1e9, 0.02)
    }
}
