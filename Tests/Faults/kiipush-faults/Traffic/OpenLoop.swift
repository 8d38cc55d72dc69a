import Glibc

/// Honest traffic: messages come whether or not anything is handled.
struct OpenLoop: Sendable {
    let name: String
    var source = TrafficAgent.Source.socket
    /// When each push is due, in seconds.
    let times: [Double]
    let push: @Sendable (Int) -> Push
    /// How late the latest may be.
    let bound: Double
    /// Whether it goes on regularly or by chance, and so may be late only once.
    var isStream = true
    /// Whether all are of one object.
    var isOrdered = true
    /// How many milliseconds ago the first changes were made.
    var lag = 0

    func row(tool: String) throws -> TrafficRow {
        var row = TrafficRow(name)
        let cloud = try Cloud(tool: tool, source: source)
        let stream = Stream(lag: lag)
        let start = cloud.now + 0.1
        for (index, time) in times.enumerated() {
            cloud.at(start + time) { [unowned cloud] in cloud.send(push(index), of: stream, due: start + time) }
        }
        let last = start + (times.last ?? 0)
        try cloud.run(until: last + 30) { stream.handled == times.count }
        // What would be handled twice comes now.
        try cloud.run(until: cloud.now + 0.3)
        let left = times.count - stream.handled
        let episodes = stream.episodes(beyond: 2)
        row.note("sent", stream.sent)
        row.note("handled", stream.handled)
        row.note("latest", left > 0 ? "never" : "\(stream.latest.text(1)) s")
        row.note("later than 1 s", stream.times.count { $0.handled - $0.due > 1 } + left)
        row.note("late", Self.times(episodes))
        row.bound = "all, at most \(bound.text(0)) s late\(isStream ? ", once" : ""), no dead letter"
        if left > 0 {
            row.broken.append("\(left) of \(times.count) not handled 30 s after the last; \(stream.answerText)")
        } else if stream.latest > bound {
            row.broken.append("the latest was \(stream.latest.text(1)) s late")
        }
        if isStream, episodes > 1 { row.broken.append("it was late \(Self.times(episodes))") }
        // What is sent again comes later than what followed it.
        if isOrdered, stream.outOfOrder > 0, stream.refused == 0 {
            row.broken.append("\(stream.outOfOrder) were handled after a later one of their object")
        }
        let (letters, _) = try row.close(cloud, stream)
        if let letters, letters > 0 { row.broken.append("\(letters) messages are dead letters") }
        return row
    }

    private static func times(_ count: Int) -> String { count == 1 ? "once" : "\(count) times" }
}

extension OpenLoop {
    /// All rows; in seconds how long the streams go on, and what chance depends on.
    static func all(seconds: Double, seed: UInt64) -> [OpenLoop] {
        let object: @Sendable (Int) -> Push = { _ in
            .object("thermostat", bucket: "climate", scope: .user("u-anna"), sender: "u-anna")
        }
        var rows = [2.1, 10].map { rate in
            OpenLoop(
                name: "open: one object, \(rate == 10 ? "10" : rate.text(1))/s", times: regular(rate, seconds),
                push: object, bound: 8)
        }
        rows += [3.0, 50].map { rate in
            let name = "open: one object, Poisson \(rate.text(0))/s"
            var chance = Chance(seed: seed, name)
            return OpenLoop(name: name, times: poisson(rate, seconds, &chance), push: object, bound: 8)
        }
        rows.append(
            OpenLoop(
                name: "open: 400 of one object at once", times: Array(repeating: 0, count: 400), push: object,
                bound: 30, isStream: false, lag: 60_000))
        let wakes = Int(seconds / 30)
        let bursts = (0..<max(wakes, 1)).flatMap { Array(repeating: Double($0) * 30, count: 60) }
        rows += [("", bursts), (", 1/s behind", (bursts + regular(1, seconds)).sorted())].map { name, times in
            OpenLoop(
                name: "open: 60 of one object each 30 s\(name)", times: times, push: object, bound: 30,
                isStream: false)
        }
        rows.append(
            OpenLoop(
                name: "open: 5000 new objects of a bucket, 200/s", times: (0..<5000).map { Double($0) / 200 },
                push: { .object("import-\($0)", bucket: "imports", scope: .user("u-anna"), sender: "u-anna") },
                bound: 8, isOrdered: false))
        rows.append(
            OpenLoop(
                name: "open: 120 commands without sender, 3/s", times: (0..<120).map { Double($0) / 3 },
                push: { _ in .command(issuer: nil) }, bound: 8, isOrdered: false))
        rows.append(
            OpenLoop(
                name: "open: one topic without sender, 5/s", times: regular(5, seconds),
                push: { _ in .topic("news", scope: .app, sender: nil) }, bound: 8))
        rows.append(
            OpenLoop(
                name: "open: one object, 10/s, MQTT", source: .broker, times: regular(10, seconds), push: object,
                bound: 8))
        return rows
    }

    private static func regular(_ rate: Double, _ seconds: Double) -> [Double] {
        (0..<Int(rate * seconds)).map { Double($0) / rate }
    }

    private static func poisson(_ rate: Double, _ seconds: Double, _ chance: inout Chance) -> [Double] {
        var times: [Double] = []
        var time = 0.0
        while true {
            time -= log(Double.random(in: 0x1p-53..<1, using: &chance)) / rate
            guard time < seconds else { return times }
            times.append(time)
        }
    }
}
