/// How long a message of a quiet key takes while the agent is idle, and while another key sends as fast as it can.
struct Latency: Sendable {
    let idle: Double
    let flood: Double
    /// How many messages of the quiet key come in a second.
    ///
    /// All of them together have to stay below the limits of their bucket and route, 200 in five minutes and 400 in
    /// ten: a key above its limit is held once, for some seconds, flooded or not.
    let rate: Double

    /// Faster than this nothing is measured: it is the noise of a busy machine.
    private static let floor = 0.005

    let name = "latency: another key, while one floods"

    func row(tool: String) throws -> TrafficRow {
        var row = TrafficRow(name)
        let cloud = try Cloud(tool: tool, links: 1 + Flood.floodLinks)
        let before = try latencies(cloud, idle)
        let noise = Stream(isTracked: false)
        for link in 1...Flood.floodLinks {
            cloud.flood(link: link) {
                (noise, .object("flooded", bucket: "noise", scope: .user("u-noisy"), sender: "u-noisy"))
            }
        }
        let during = try latencies(cloud, flood)
        cloud.endFloods()
        let bound = max(Self.p99(before), Self.floor) * 2
        row.note("idle p99", "\(Self.milliseconds(Self.p99(before))) of \(before.count)")
        row.note("flooded p99", "\(Self.milliseconds(Self.p99(during))) of \(during.count)")
        row.note("median", "\(Self.milliseconds(during.sorted()[during.count / 2]))")
        row.note("flood", "\(noise.sent) in \(flood.text(0)) s")
        row.bound = "p99 at most twice that of an idle agent, or 10 ms: \(Self.milliseconds(bound))"
        if Self.p99(during) > bound { row.broken.append("p99 is \(Self.milliseconds(Self.p99(during)))") }
        try row.close(cloud, noise)
        return row
    }

    /// Sends a message now and then; how long each took, infinitely where it was not handled within three seconds.
    private func latencies(_ cloud: Cloud, _ seconds: Double) throws -> [Double] {
        let stream = Stream()
        let start = cloud.now
        var times: [Int64] = []
        for number in 0..<Int(seconds * rate) {
            cloud.at(start + Double(number) / rate) { [unowned cloud] in
                // In turn, so that none of the objects is fast enough to be held itself.
                let push = Push.object(
                    "door-\(number % 4)", bucket: "other", scope: .user("u-quiet"), sender: "u-quiet")
                times.append(cloud.send(push, of: stream))
            }
        }
        try cloud.run(until: start + seconds)
        try cloud.run(until: cloud.now + 3) { stream.handled == stream.sent }
        return times.map { time in
            guard let sent = cloud.sent(time), let handled = sent.handled else { return .infinity }
            return handled - sent.put
        }
    }

    private static func p99(_ values: [Double]) -> Double {
        let index = Int((Double(values.count) * 0.99).rounded(.up)) - 1
        return values.sorted()[max(index, 0)]
    }

    private static func milliseconds(_ seconds: Double) -> String {
        seconds.isFinite ? "\((seconds * 1000).text(1)) ms" : "more than 3 s"
    }
}
