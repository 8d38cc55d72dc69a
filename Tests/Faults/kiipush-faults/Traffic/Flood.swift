/// One key sends as fast as the agent takes it, and another client one message now and then.
struct Flood: Sendable {
    enum Kind: String, CaseIterable, Sendable {
        case topic = "8000 of one topic"
        case object = "8000 of one object"
        case bucket = "12000 objects of one bucket"

        var count: Int { self == .bucket ? 12_000 : 8000 }

        func push(_ number: Int) -> Push {
            switch self {
            case .topic: .topic("flooded", scope: .app, sender: "u-noisy")
            case .object: .object("flooded", bucket: "noise", scope: .user("u-noisy"), sender: "u-noisy")
            case .bucket: .object("o-\(number)", bucket: "noise", scope: .user("u-noisy"), sender: "u-noisy")
            }
        }
    }

    /// Over how many connections it comes: of each the agent takes only so many that it has not answered.
    static let floodLinks = 8
    /// How long the other client may wait, for its answer and for its message to be handled.
    private static let bound = 2.0
    /// How much longer it is waited for, to see how late it is.
    private static let patience = 4.0

    let kind: Kind
    var source = TrafficAgent.Source.socket

    var name: String { "flood: \(kind.rawValue)\(source == .broker ? ", MQTT" : "")" }

    func row(tool: String) throws -> TrafficRow {
        var row = TrafficRow(name)
        row.bound = "other client answered and handled in 2 s, each time; SIGTERM: exit code 0; under 1000 letters"
        let cloud = try Cloud(tool: tool, source: source, links: 1 + Self.floodLinks)
        let (noise, other) = (Stream(lag: 10_000), Stream())
        try probe(cloud, other, "before", &row, pauses: [0]) { true }
        let start = cloud.now
        beginFlood(cloud, noise)
        var answers: Int { noise.answers.values.reduce(0, +) - noise.refused }
        var isOver: Bool { answers >= kind.count }
        if source == .socket {
            // In the middle, however far it comes, and then every two seconds that it goes on.
            try cloud.run(until: start + 2) { answers >= kind.count / 2 }
            try probe(cloud, other, "during", &row, pauses: Array(repeating: 2, count: 20)) { isOver }
        } else {
            // The broker answers. Its queue has one order, so this message is the last one of the flood.
            try cloud.run(until: start + 10) { isOver }
            try probe(cloud, other, "during", &row, pauses: [0]) { true }
        }
        row.note("flood answered", "\(answers) in \((cloud.now - start).text(1)) s")
        try probe(cloud, other, "after", &row, pauses: [1, 2, 0]) { false }
        row.note("handled", noise.handled)
        let letters = try cloud.letters()
        row.note(
            "dead letters",
            letters.map { $0.count == $0.messages ? "\($0.count)" : "\($0.count) of \($0.messages)" } ?? "?")
        row.note("in inbox", cloud.agent.waiting)
        row.note("log lines", cloud.agent.logLines)
        if let letters, letters.count >= 1000 { row.broken.append("\(letters.count) dead letters") }
        try row.stop(cloud)
        try restart(cloud, other, &row)
        return row
    }

    private func beginFlood(_ cloud: Cloud, _ noise: Stream) {
        var count = 0
        for link in 1...Self.floodLinks {
            cloud.flood(link: link) {
                guard count < kind.count else { return nil }
                count += 1
                return (noise, kind.push(count))
            }
        }
    }

    /// Starts the agent on what the first one left.
    private func restart(_ cloud: Cloud, _ other: Stream, _ row: inout TrafficRow) throws {
        let begin = cloud.now
        do { try cloud.startAgent(links: 1) } catch {
            row.note("ready again", "no")
            row.note("after restart", "-")
            row.broken.append("after the restart: \(error)")
            return
        }
        row.note("ready again", "\((cloud.now - begin).text(1)) s")
        try probe(cloud, other, "after restart", &row, pauses: [1, 2, 0]) { false }
        let (end, seconds) = try cloud.stop()
        if end != .exited(0) {
            row.broken.append("second SIGTERM: \(end.map { "\($0)" } ?? "did not end in \(seconds.text(0)) s")")
        }
    }

    /// Sends messages of the other client, with pauses, until something holds or one is not handled in time.
    private func probe(
        _ cloud: Cloud, _ other: Stream, _ when: String, _ row: inout TrafficRow, pauses: [Double],
        _ isOver: () -> Bool
    ) throws {
        var (answered, handled) = (0.0, 0.0)
        let bound = source == .broker && when == "during" ? 30 : Self.bound
        for pause in pauses {
            let start = cloud.now
            let push = Push.object("door", bucket: "other", scope: .user("u-quiet"), sender: "u-quiet")
            let time = cloud.send(push, of: other)
            try cloud.run(until: start + bound + Self.patience) {
                cloud.sent(time)?.handled != nil && cloud.sent(time)?.answered != nil
            }
            answered = max(answered, cloud.sent(time)?.answered.map { $0 - start } ?? .infinity)
            handled = max(handled, cloud.sent(time)?.handled.map { $0 - start } ?? .infinity)
            if max(answered, handled) > bound { break }
            try cloud.run(until: cloud.now + pause) { pauses.count > 3 && isOver() }
            if isOver() { break }
        }
        let texts = [answered, handled].map { $0.isFinite ? $0.text(2) : "never" }
        row.note(when, texts[0] == texts[1] && answered.isInfinite ? "never" : texts.joined(separator: "/"))
        for (what, seconds) in [("answered", answered), ("handled", handled)] where seconds > bound {
            let wait =
                seconds.isFinite ? "after \(seconds.text(1)) s" : "not within \((bound + Self.patience).text(0)) s"
            row.broken.append("the other client, \(when): \(what) \(wait)")
        }
    }
}
