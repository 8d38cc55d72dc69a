import KiiPush

/// How long single messages took, which an average hides.
struct Tail {
    let name: String
    /// In nanoseconds: the median, and what so many of a hundred did not exceed.
    let median: Double
    let p99: Double
    let p999: Double
    let longest: Double
}

/// Times each message for itself: 200,000 of them, all different, through one receiver.
func measureTail(_ options: Options) async -> Tail {
    let count = min(options.rounds * 2000, 200_000)
    var source = Payloads()
    let shared = readingReceiver()
    var times: [Double] = []
    times.reserveCapacity(count)
    for payload in source.next(count) {
        let start = ContinuousClock.now
        use(await shared.receive(payload))
        times.append(start.duration(to: .now).nanoseconds)
    }
    return Tail("receive", times)
}

extension Tail {
    fileprivate init(_ name: String, _ times: [Double]) {
        let sorted = times.sorted()
        func quantile(_ part: Double) -> Double { sorted[min(Int(part * Double(sorted.count)), sorted.count - 1)] }
        self.init(
            name: name, median: quantile(0.5), p99: quantile(0.99), p999: quantile(0.999), longest: quantile(1))
    }
}
