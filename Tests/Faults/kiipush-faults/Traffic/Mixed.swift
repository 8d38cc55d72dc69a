/// A loop, and honest messages beside it: of the loop's own key, and of others that it must not keep waiting.
struct Mixed: Sendable {
    enum Key: String, CaseIterable, Sendable {
        case object = "object"
        case bucket = "bucket"
        /// One object, which honest messages came for at 10/s before the loop began.
        case busyObject = "busy object"

        var noun: String { self == .bucket ? "bucket" : "object" }
    }

    /// What all messages of the loop have in common.
    let key: Key
    let seconds: Double

    var name: String { "mixed: a loop in one \(key.rawValue), honest 1/s in it and beside it" }

    private func looping(_ number: Int) -> Push {
        Self.object(key == .bucket ? "lamp-\(number)" : "lamp", "home")
    }

    private static func object(_ name: String, _ bucket: String) -> Push {
        .object(name, bucket: bucket, scope: .user("u-a"), sender: "u-a")
    }

    /// The loop's messages; the honest ones of its key, before it began and since; and those of another key.
    private struct Streams {
        let loop = Stream()
        let before = Stream()
        let same = Stream()
        let other = Stream()

        var honest: Int { before.handled + same.handled }
        var honestLeft: Int { before.sent + same.sent - honest }
    }

    func row(tool: String) throws -> TrafficRow {
        var row = TrafficRow(name)
        let cloud = try Cloud(tool: tool, links: 2)
        let streams = Streams()
        cloud.onHandled = { [unowned cloud] sent in
            // The handler cannot tell them apart: it writes for an honest message of the key too.
            guard sent.stream === streams.loop || sent.stream === streams.same else { return }
            cloud.at(cloud.now + 0.05) { cloud.send(looping(streams.loop.sent), of: streams.loop) }
        }
        try send(cloud, streams)
        let (looped, inTime) = (streams.loop.handled, streams.honest)
        // The loop's fault is repaired: what waits is handled at its pace, or a newer change has taken its place.
        cloud.onHandled = { _ in }
        try cloud.run(until: cloud.now + 40) { streams.honestLeft == 0 }
        row.note("loop handled", looped)
        row.note("honest of the key", "\(inTime) of \(streams.before.sent + streams.same.sent)")
        let latest = max(streams.same.latest, streams.before.latest).text(1)
        row.note("after the repair", "\(streams.honest), latest \(latest) s")
        let other = streams.other
        row.note("others", "\(other.handled) of \(other.sent), latest \(other.latest.text(1)) s")
        let most = key == .bucket ? 2100 : 40
        row.bound = "loop at most \(most) in the first hour; others all, at most 8 s late; honest all in the end"
        if looped > most { row.broken.append("\(looped) of the loop were handled") }
        try judge(cloud, streams, &row)
        return row
    }

    /// Sends the honest messages and starts the loop, and lets both go on.
    private func send(_ cloud: Cloud, _ streams: Streams) throws {
        let honest = key == .bucket ? Self.object("clock", "home") : Self.object("lamp", "home")
        let beside = Self.object("clock", key == .bucket ? "office" : "home")
        let begin = cloud.now
        let start = begin + (key == .busyObject ? 20 : 0)
        for time in stride(from: begin, to: start, by: 0.1) {
            cloud.at(time) { [unowned cloud] in cloud.send(honest, of: streams.before, due: time, link: 1) }
        }
        cloud.at(start) { [unowned cloud] in cloud.send(looping(0), of: streams.loop) }
        for second in 0..<Int(seconds) {
            for (stream, push, offset) in [(streams.same, honest, 0.0), (streams.other, beside, 0.5)] {
                let time = start + Double(second) + offset
                cloud.at(time) { [unowned cloud] in cloud.send(push, of: stream, due: time, link: 1) }
            }
        }
        try cloud.run(until: start + seconds + 10) {
            cloud.now > start + seconds && streams.other.handled == Int(seconds)
        }
    }

    private func judge(_ cloud: Cloud, _ streams: Streams, _ row: inout TrafficRow) throws {
        let other = streams.other
        if other.handled < other.sent {
            row.broken.append("\(other.sent - other.handled) honest messages of another \(key.noun) not handled")
        }
        if other.latest > 8 { row.broken.append("another \(key.noun): \(other.latest.text(1)) s late") }
        if streams.honestLeft > 0 {
            row.broken.append("\(streams.honestLeft) honest messages of the key not handled, also not when released")
        }
        let missing = streams.honestLeft + streams.loop.sent - streams.loop.handled
        let (letters, waiting) = try row.close(cloud, streams.loop, streams.before, streams.same, other)
        // What was not handled is in the inbox or a dead letter, the loop's messages and the honest ones together.
        if let letters, let waiting, missing > letters + waiting {
            row.broken.append("\(missing - letters - waiting) messages of the \(key.noun) are lost")
        }
    }
}
