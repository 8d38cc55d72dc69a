/// Pushes that belong together, and what has come of them.
final class Stream {
    /// How many milliseconds ago its pushes were made, as of a device that was away.
    let lag: Int64
    /// Whether there is a book of each push; else only of how many were sent.
    let isTracked: Bool
    var sent = 0
    private(set) var handled = 0
    var twice = 0
    /// How often a push was to be sent again later.
    var refused = 0
    private(set) var outOfOrder = 0
    var answers: [String: Int] = [:]
    /// Of each handled push: when it was due, when it was handled.
    private(set) var times: [(due: Double, handled: Double)] = []
    private var last: Int64 = 0

    init(lag: Int = 0, isTracked: Bool = true) {
        self.lag = Int64(lag)
        self.isTracked = isTracked
    }

    func noteHandled(_ time: Int64, due: Double, at now: Double) {
        handled += 1
        times.append((due, now))
        if time < last { outOfOrder += 1 }
        last = max(last, time)
    }

    /// How late the latest was, in seconds.
    var latest: Double { times.reduce(0) { max($0, $1.handled - $1.due) } }

    /// How many times pushes were late by more than so many seconds; once is over when none was for eight seconds.
    func episodes(beyond seconds: Double) -> Int {
        var count = 0
        var end = -Double.infinity
        for (due, handled) in times.sorted(by: { $0.due < $1.due }) where handled - due > seconds {
            if due > end + 8 { count += 1 }
            end = max(end, handled)
        }
        return count
    }

    /// How many answers there were, those of one outcome together: `handled 20, stored 4`.
    var answerText: String {
        answers.sorted { $0.value > $1.value }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
    }
}

extension Double {
    /// The number with so many decimals.
    func text(_ decimals: Int) -> String {
        if decimals == 0 { return isFinite ? "\(Int(rounded()))" : "\(self)" }
        let factor = (0..<decimals).reduce(1.0) { result, _ in result * 10 }
        return "\((self * factor).rounded() / factor)"
    }
}
