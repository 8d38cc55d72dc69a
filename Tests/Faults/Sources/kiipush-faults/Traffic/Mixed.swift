/// A loop, and honest messages beside it: of the loop's own key, and of others that it must not keep waiting.
struct Mixed: Sendable {
    enum Key: String, CaseIterable, Sendable {
        case object = "object"
        case bucket = "bucket"
    }

    /// What all messages of the loop have in common.
    let key: Key
    let seconds: Double

    var name: String { "mixed: a loop in one \(key.rawValue), honest 1/s in it and beside it" }

    private func looping(_ number: Int) -> Push {
        Self.object(key == .object ? "lamp" : "lamp-\(number)", "home")
    }

    private static func object(_ name: String, _ bucket: String) -> Push {
        .object(name, bucket: bucket, scope: .user("u-a"), sender: "u-a")
    }

    func row(tool: String) throws -> TrafficRow {
        var row = TrafficRow(name)
        let cloud = try Cloud(tool: tool, links: 2)
        let (loop, same, other) = (Stream(), Stream(), Stream())
        let honest = key == .object ? Self.object("lamp", "home") : Self.object("clock", "home")
        let beside = key == .object ? Self.object("clock", "home") : Self.object("clock", "office")
        cloud.onHandled = { [unowned cloud] sent in
            // The handler cannot tell them apart: it writes for an honest message of the key too.
            guard sent.stream === loop || sent.stream === same else { return }
            cloud.at(cloud.now + 0.05) { cloud.send(looping(loop.sent), of: loop) }
        }
        let start = cloud.now
        cloud.at(start) { [unowned cloud] in cloud.send(looping(0), of: loop) }
        for second in 0..<Int(seconds) {
            for (stream, push, offset) in [(same, honest, 0.0), (other, beside, 0.5)] {
                let time = start + Double(second) + offset
                cloud.at(time) { [unowned cloud] in cloud.send(push, of: stream, due: time, link: 1) }
            }
        }
        try cloud.run(until: start + seconds + 10) { cloud.now > start + seconds && other.handled == Int(seconds) }
        let (looped, inTime) = (loop.handled, same.handled)
        // The loop's fault is repaired, and what was held is released by hand: it has to be there.
        cloud.onHandled = { _ in }
        let release = try cloud.command(["held", "release", "--all"])
        try cloud.run(until: cloud.now + 5) { same.handled == same.sent }
        row.note("loop handled", looped)
        row.note("honest of the key", "\(inTime) of \(same.sent)")
        row.note("after release", "\(same.handled), latest \(same.latest.text(1)) s")
        row.note("others", "\(other.handled) of \(other.sent), latest \(other.latest.text(1)) s")
        let most = key == .object ? 40 : 2100
        row.bound = "loop at most \(most) in the first hour; others all, at most 8 s late; nothing honest lost"
        if release == nil { row.broken.append("'held release' failed") }
        if looped > most { row.broken.append("\(looped) of the loop were handled") }
        if other.handled < other.sent {
            row.broken.append("\(other.sent - other.handled) honest messages of another \(key.rawValue) not handled")
        }
        if other.latest > 8 { row.broken.append("another \(key.rawValue): \(other.latest.text(1)) s late") }
        let missing = same.sent - same.handled + loop.sent - loop.handled
        let (letters, waiting) = try row.close(cloud, loop, same, other)
        // What was not handled is in the inbox or a dead letter, the loop's messages and the honest ones together.
        if let letters, let waiting, missing > letters + waiting {
            row.broken.append("\(missing - letters - waiting) messages of the \(key.rawValue) are lost")
        }
        return row
    }
}
