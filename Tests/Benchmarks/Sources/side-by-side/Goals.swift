/// A figure that KiiPush is to reach, and what was measured.
struct Goal {
    let what: String
    let wanted: String
    let measured: String
    /// Nil where it could not be measured on this machine.
    let isMet: Bool?

    var verdict: String {
        switch isMet {
        case true?: "met"
        case false?: "missed"
        case nil: "not measured"
        }
    }

    /// A value, nil where there is none, that must be within its bounds.
    private init(
        _ what: String, _ value: Double?, _ unit: String, wanted: String, _ isWithin: (Double) -> Bool
    ) {
        self.what = what
        self.wanted = wanted
        measured = value.map { "\(figure($0)) \(unit)" } ?? "-"
        isMet = value.map(isWithin)
    }

    /// A value that must not be above its bound.
    private init(_ what: String, _ value: Double?, atMost bound: Double, unit: String) {
        let digits = bound == bound.rounded() ? 0 : 1
        self.init(what, value, unit, wanted: "≤ \(figure(bound, digits: digits)) \(unit)") { $0 <= bound }
    }
}

extension Goal {
    static func all(_ results: Results) -> [Goal] { whole(results) + parts(results) + tool(results) }

    /// The whole, beside other programs; what the handler reads is in it.
    private static func whole(_ results: Results) -> [Goal] {
        let ours = results.ours
        let times = { (id: String) in results.onSample(id).map { ours / $0 } }
        let decoder = results.onSample("json-decoder").map { $0 / ours }
        return [
            Goal("bytes in to handler returned", ours, atMost: 450, unit: "ns"),
            Goal("the same, to simdjson's bare DOM parse", times("simdjson-dom"), atMost: 5, unit: "×"),
            Goal("the same, to Node's bare `JSON.parse`", times("node-parse"), "×", wanted: "< 1 ×") { $0 < 1 },
            Goal("Foundation's bare `JSONDecoder`, to the same", decoder, "×", wanted: "≥ 8 ×") { $0 >= 8 },
            Goal("Rust by hand, of our contract: ours to it", times("rust-shared"), "×", wanted: "≤ 1 ×") {
                $0 <= 1
            },
        ]
    }

    private static func parts(_ results: Results) -> [Goal] {
        let few = results.stage("route among 10")?.nanoseconds.median
        let many = results.stage("route among 10000")?.nanoseconds.median
        let wholeFew = results.point(results.routes, Program.ours, 10)
        let wholeMany = results.point(results.routes, Program.ours, 10_000)
        let divide = { (one: Double?, other: Double?) in one.flatMap { one in other.map { one / $0 } } }
        let keys = results.seenKeys(1_000_000)
        return [
            Goal(
                "heap allocations until the handler reads", results.stage("whole, handler reads nothing")?.allocations,
                atMost: 2, unit: "a message"),
            Goal("looking up the route: 10,000 routes to ten", divide(many, few), atMost: 1.2, unit: "×"),
            Goal("the whole: 10,000 routes to ten", divide(wholeMany, wholeFew), atMost: 1.2, unit: "×"),
            Goal("1,000,000 seen keys", keys?.megabytes.median, atMost: 40, unit: "MB"),
            Goal("admitting a message beside them", keys?.beginNanoseconds.median, atMost: 60, unit: "ns"),
            Goal(
                "the longest pause on the way there", keys.map { $0.longestPauseMicroseconds.median / 1000 }, atMost: 1,
                unit: "ms"),
        ]
    }

    private static func tool(_ results: Results) -> [Goal] {
        let start = results.start("kiipush, static")
        let size = results.binaries.first { $0.title == "kiipush, static" }.map { Double($0.bytes) / 1e6 }
        return [
            Goal("static stripped `kiipush`", size, atMost: 9, unit: "MB"),
            Goal("its start to the first message", start?.milliseconds.median, atMost: 10, unit: "ms"),
            Goal("resident then, at most", start?.residentMegabytes.median, atMost: 12, unit: "MB"),
        ]
    }
}
