extension Report {
    /// The largest gap between messages of one storm: the loop guard's shortest window.
    private static let mostGap: Int64 = 10_000

    /// Classifies each held lane: a loop if the guard found one, a burst if all its messages were handled.
    ///
    /// The guard decides only after it holds messages, so the earlier messages of the lane count too.
    mutating func spreadGuarding() {
        var (loops, open, held): (Set<Int>, Set<Int>, Set<Int>) = ([], [], [])
        for message in messages where message.guarding.contains(.held) {
            if message.guarding.contains(.loop) { loops.insert(message.lane) }
            if outcome(message) == "handled" { held.insert(message.lane) } else { open.insert(message.lane) }
        }
        let bursts = held.subtracting(loops).subtracting(open)
        spread(.loop, over: loops)
        spread(.burst, over: bursts)
    }

    /// Adds the held messages of a lane to its storm, and those shortly before.
    private mutating func spread(_ sort: ReportMessage.Guarding, over lanes: Set<Int>) {
        var next: [Int: Int64] = [:]
        for index in messages.indices.reversed() where lanes.contains(messages[index].lane) {
            let message = messages[index]
            let isNear = next[message.lane].map { $0 - message.time <= Self.mostGap } ?? false
            guard message.guarding.contains(.held) || (isNear && message.hasPassed(outcome(message))) else { continue }
            messages[index].guarding.insert(sort)
            next[message.lane] = message.time
        }
    }

    /// The combined messages of one lane.
    struct Storm {
        let lane: Int
        var messages = 0
        var handled = 0
        var first: Int64
        var last: Int64
        var longestHold: Int64 = 0
        var stillHeld = 0
        /// The route of the first message.
        let route: Int

        /// Its length in seconds, at least one.
        var seconds: Int64 { max(1, (last - first + 999) / 1000) }
    }

    /// The storms of one sort, the largest first.
    func storms(_ sort: ReportMessage.Guarding) -> [Storm] {
        var storms: [Int: Storm] = [:]
        for message in messages where message.guarding.contains(sort) {
            var storm =
                storms[message.lane]
                ?? Storm(lane: message.lane, first: message.time, last: message.time, route: message.route)
            storm.messages += 1
            storm.last = message.time
            if outcome(message) == "handled" { storm.handled += 1 }
            if outcome(message) == "held" { storm.stillHeld += 1 }
            if let end = message.end { storm.longestHold = max(storm.longestHold, end - message.time) }
            storms[message.lane] = storm
        }
        return storms.values.sorted { ($1.messages, $0.lane) < ($0.messages, $1.lane) }
    }
}

extension ReportMessage {
    /// Whether the message reached the loop guard's rate layer.
    fileprivate func hasPassed(_ outcome: String) -> Bool {
        ["handled", "failed", "held", "deadLettered"].contains(outcome)
    }
}
