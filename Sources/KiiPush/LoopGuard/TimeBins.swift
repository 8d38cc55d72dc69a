/// Counts recent events in bins of a quarter of a second.
///
/// Keeps the last 64 seconds, in half a kilobyte. A bin counts up to 65,535. Anything older, such as a message that an
/// earlier process accepted, is not counted.
struct TimeBins {
    /// The length of a bin, in nanoseconds.
    static let bin: Int64 = 250_000_000
    static let bins = 256

    /// All bins but the newest.
    private var counts = [UInt16](repeating: 0, count: bins)
    /// The number of the newest bin, when it ends, and its count.
    ///
    /// Separate, because every message is counted: an access to the array for each would cost more than all else.
    private var last: Int64
    private var end: Int64
    private var newest = 0

    init(_ now: Int64) {
        last = now / Self.bin
        end = (last &+ 1) &* Self.bin
    }

    /// Counts an event now; in the newest bin if the clock was set back.
    @inline(__always)
    mutating func add(_ now: Int64) {
        if now >= end { advance(now / Self.bin) }
        newest &+= 1
    }

    /// Counts an event at an earlier time; a time in the future counts as now.
    mutating func add(_ time: Int64, _ now: Int64) {
        advance(now / Self.bin)
        let number = min(time, now) / Self.bin
        if number == last { return newest &+= 1 }
        guard number > last - Int64(Self.bins), number < last else { return }
        let place = Self.place(number)
        if counts[place] < .max { counts[place] += 1 }
    }

    /// The bins of a delay of some seconds, which varies by a fraction of it.
    static func delay(_ seconds: Double, spread: Double) -> ClosedRange<Int> {
        Int((seconds * (1 - spread) * 4).rounded())...Int((seconds * (1 + spread) * 4).rounded())
    }

    /// The bin of `time`, or the oldest bin if that is later.
    func first(since time: Int64) -> Int64 { max(time / Self.bin, last - Int64(Self.bins) + 1) }

    /// The number of events in a bin.
    subscript(number: Int64) -> Int {
        number < last ? Int(counts[Self.place(number)]) : number == last ? newest : 0
    }

    /// The number of events from the bin of `start` up to that of `end`, exclusive, and the seconds of these bins.
    func count(from start: Int64, to end: Int64) -> (count: Int, seconds: Double) {
        let first = first(since: start), next = end / Self.bin
        guard first < next else { return (0, 0) }
        // No event since the newest bin: beyond it, the ring has the oldest ones.
        let count = (first..<max(first, min(next, last + 1))).reduce(0) { $0 + self[$1] }
        return (count, Double(next - first) / 4)
    }

    private static func place(_ number: Int64) -> Int { Int(truncatingIfNeeded: number) & (bins - 1) }

    // Not inlined: it is called four times a second.
    @inline(never)
    private mutating func advance(_ number: Int64) {
        guard number > last else { return }
        counts[Self.place(last)] = UInt16(clamping: newest)
        // If all bins are old, each is emptied once.
        for next in max(last + 1, number - Int64(Self.bins) + 1)...number { counts[Self.place(next)] = 0 }
        (last, newest) = (number, 0)
        end = number == .max / Self.bin ? .max : (number + 1) * Self.bin
    }
}
