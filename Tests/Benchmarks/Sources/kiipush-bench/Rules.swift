import KiiPush
import KiiPushRules

/// What reading and loading a rules file costs.
struct RulesReport {
    let rules: Int
    let megabytes: Double
    let millisecondsToRead: Double
    let millisecondsToLoad: Double
}

/// Reads and loads a file of ten thousand rules, each with conditions of every sort and a test; the best of five.
func measureRules() throws -> RulesReport {
    let count = 10_000
    let rules = (0..<count).map { number in
        """
        {"id":"rule-\(number)","when":{"kind":"pushToApp","scope":"user:*","bucket":["bucket-\(number)","b*-\(number)"],
         "object":"*","events":"DATA_OBJECT_*","data":{"temp":{"greater":\(number)},"mode":["eco","auto-*"]}},
         "then":{"handler":"h"},"writes":["kiicloud://users/U1/buckets/state"]}
        """
    }
    let tests = (0..<count).map { number in
        """
        {"name":"test \(number)","steps":[{"at":"1s","payload":{"bucketID":"bucket-\(number)","temp":"31"},
         "transport":"mqtt","expect":{"outcome":"handled","rules":["rule-\(number)"]}}]}
        """
    }
    let text = #"{"version":1,"rules":["# + rules.joined(separator: ",\n") + "],\n"
    let bytes = Array((text + #""tests":["# + tests.joined(separator: ",\n") + "]}").utf8)
    var best = (read: Double.infinity, load: Double.infinity)
    for _ in 0..<5 {
        let start = ContinuousClock.now
        let file = try RoutingRules(bytes)
        let read = ContinuousClock.now
        let receiver = PushReceiver(rules: file)
        receiver.register("h") { _, _ in }
        try receiver.load(file)
        let end = ContinuousClock.now
        try check(receiver.routes.count == count, "every rule loaded")
        best = (
            min(best.read, start.duration(to: read).nanoseconds), min(best.load, read.duration(to: end).nanoseconds)
        )
    }
    return RulesReport(
        rules: count, megabytes: Double(bytes.count) / 1e6, millisecondsToRead: best.read / 1e6,
        millisecondsToLoad: best.load / 1e6)
}
