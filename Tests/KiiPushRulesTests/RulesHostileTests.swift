import Testing

@testable import KiiPush
@testable import KiiPushRules
@testable import KiiPushTestSupport

/// Rules files that are damaged, huge, deep, or made to be slow.
struct RulesHostileTests {
    @Test("a damaged file is read or refused with problems that lie in it, and nothing else", arguments: 0..<16)
    func damaged(seed: UInt64) {
        var source = RandomJSON(seed: seed)
        let sound = Array(RulesSamples.full.utf8)
        for _ in 0..<60 {
            var bytes = sound
            for _ in 0..<source.count(in: 1...4) {
                let place = source.count(in: 0...(bytes.count - 1))
                switch source.count(in: 0...5) {
                case 0: bytes[place] ^= 1 << UInt8(source.count(in: 0...7))
                case 1: bytes.remove(at: place)
                case 2: bytes.insert(UInt8(source.count(in: 0...255)), at: place)
                case 3: bytes.removeLast(source.count(in: 0...min(40, bytes.count - 10)))
                case 4:
                    let end = min(bytes.count, place + source.count(in: 1...30))
                    bytes.insert(contentsOf: bytes[place..<end], at: source.count(in: 0...(bytes.count - 1)))
                default: bytes.replaceSubrange(place..<min(bytes.count, place + 5), with: Array("null".utf8))
                }
            }
            judge(bytes)
        }
    }

    @Test("any JSON in the place of any value is read or refused", arguments: 0..<16)
    func otherValues(seed: UInt64) {
        var source = RandomJSON(seed: seed &+ 500)
        let pieces = RulesSamples.full.split(separator: ":", omittingEmptySubsequences: false)
        for _ in 0..<60 {
            var changed = pieces.map(String.init)
            let place = source.count(in: 1...(changed.count - 1))
            let value = source.value(depth: 3)
            let rest = changed[place].drop { $0 != "," && $0 != "}" }
            changed[place] = source.spelling(of: value) + rest
            judge(Array(changed.joined(separator: ":").utf8))
        }
    }

    private func judge(_ bytes: [UInt8]) {
        do {
            _ = try RoutingRules(bytes, file: "r")
        } catch {
            let lines = bytes.count { $0 == UInt8(ascii: "\n") } + 1
            #expect(!error.problems.isEmpty && error.problems.count <= RulesError.mostProblems)
            for problem in error.problems {
                #expect((1...lines).contains(problem.position.line) && problem.position.column >= 1)
                #expect(!problem.what.isEmpty && !problem.description.contains("\n"))
            }
        }
    }

    @Test("depth and size have bounds, and what is beyond is refused at its place")
    func bounds() throws {
        func nested(_ depth: Int) -> String {
            let open = String(repeating: #"{"not":"#, count: depth)
            return RulesSamples.when(#"{"data":{"a":\#(open)1\#(String(repeating: "}", count: depth))}}"#)
        }
        #expect(try RoutingRules(nested(59)).rules.count == 1)
        #expect(RulesSamples.problems(nested(60)).first?.hasSuffix("nested deeper than 64 levels") == true)
        let deep = String(repeating: "[", count: 1_000_000)
        #expect(RulesSamples.problems(deep) == ["1:65: nested deeper than 64 levels"])
        let large = [UInt8](repeating: UInt8(ascii: " "), count: RoutingRules.mostBytes + 1)
        let error = #expect(throws: RulesError.self) { try RoutingRules(large) }
        #expect(error?.problems.first?.what == "the file has 16777217 bytes; at most 16777216 are read")
    }

    @Test("a file of ten megabytes is read, and a fault at its end has its place")
    func tenMegabytes() throws {
        let payload = "{\"text\":\"\(String(repeating: "x", count: 5 << 20))\"}"
        let step = #"{"payload":\#(payload),"expect":{"outcome":"unrouted"}}"#
        let test = #"{"name":"large","steps":[\#(step),"# + "\n" + step + "]}"
        let text = #"{"version":1,"rules":[],"tests":["# + test
        let rules = try RoutingRules(text + "]}")
        guard case .receive(let incoming) = rules.tests[0].steps[1].action else { throw TestError() }
        #expect(incoming.bytes.count == payload.utf8.count)
        #expect(RulesSamples.problems(text + ",\n 7]}").first?.hasPrefix("3:2: expected a test") == true)
    }

    @Test("refuses files that are designed to be slow")
    func slow() {
        let marks = String(repeating: "\u{301}\u{327}", count: 50_000)
        let keys = (0..<100_000).map { "\"k\($0)\":0" }.joined(separator: ",")
        let rules = (0..<20_000).map { _ in #"{"id":"same","then":{"print":true}}"# }.joined(separator: ",")
        let hidden = String(repeating: #"{"not":"#, count: 50)
        let long = String(repeating: "x", count: 4 << 20)
        let start = ContinuousClock.now
        do {
            #expect(!RulesSamples.problems("{\"version\":1,\"rules\":[],\"\(marks)\":1,\"\(marks)x\":2}").isEmpty)
            #expect(RulesSamples.problems("{\"version\":1,\"rules\":[],\(keys)}").count == 100)
            #expect(RulesSamples.problems("{\"version\":1,\"rules\":[\(rules)]}").count == 100)
            let nested = #"{"data":{"a":\#(hidden)"\#(long)"\#(String(repeating: "}", count: 50))}}"#
            #expect(RulesSamples.problems(RulesSamples.when(nested)).isEmpty)
        }
        // In a debug build, beside tests that compute; in a release build it is well below a second.
        #expect(ContinuousClock.now - start < .seconds(300))
    }

    /// Files of some hundred kilobytes, each with one part that is very long.
    private static let slowToLint: [(what: String, text: String)] = [
        (
            "owners, and others that are served",
            rule(
                #""when":{"scope":\#(list(10_000, "user:b"))},\#(then)"#,
                settings: #""serving":\#(list(10_000, "user:a")),"#)
        ),
        (
            "patterns of owners, and others that are served",
            rule(
                #""when":{"scope":\#(list(5_000, "user:b*"))},\#(then)"#,
                settings: #""serving":\#(list(5_000, "user:a*")),"#)
        ),
        (
            "owners of two conditions",
            rule(#""when":{"scope":\#(list(10_000, "user:b")),"scopeID":\#(list(10_000, "a"))},\#(then)"#)
        ),
        (
            "patterns of owners of two conditions",
            rule(#""when":{"scope":\#(list(5_000, "user:b*")),"scopeID":\#(list(5_000, "a*"))},\#(then)"#)
        ),
        (
            "own identities, and as many senders",
            rule(
                #""when":{"sender":\#(list(10_000, "user:a"))},\#(then)"#,
                settings: #""me":\#(list(10_000, "user:a")),"#)
        ),
        (
            "buckets that a rule writes to, and patterns of others",
            #"{"version":1,"rules":[{"id":"a","when":{"bucket":\#(list(10_000, "a"))},"then":{"write":"#
                + #"{"object":"kiicloud://buckets/${bucket}/objects/o","fields":{"n":1}}}},"#
                + #"{"id":"b","when":{"bucket":\#(list(10_000, "b*"))},\#(then)}]}"#
        ),
        (
            "keys of the data",
            rule(#""when":{"data":{\#((0..<20_000).map { "\"k\($0)\":1" }.joined(separator: ","))}},\#(then)"#)
        ),
        (
            "keys of the data, and as many placeholders for others",
            rule(
                #""when":{"topic":"t","data":{\#((0..<20_000).map { "\"k\($0)\":1" }.joined(separator: ","))}},"#
                    + #""then":{"write":{"object":"kiicloud://buckets/b/objects/o","fields":{"f":["#
                    + (0..<20_000).map { "\"${data.x\($0)}\"" }.joined(separator: ",") + "]}}}")
        ),
        (
            "placeholders without an end",
            rule(#""when":{"topic":"\#(String(repeating: "${param.", count: 50_000))"},\#(then)"#)
        ),
    ]

    private static let then = #""then":{"handler":"h"}"#

    /// Texts with a number each, before the star if they have one.
    private static func list(_ count: Int, _ text: String) -> String {
        let isPattern = text.hasSuffix("*")
        let texts = (0..<count).map { "\"\(isPattern ? String(text.dropLast()) : text)\($0)\(isPattern ? "*" : "")\"" }
        return "[\(texts.joined(separator: ","))]"
    }

    private static func rule(_ parts: String, settings: String = "") -> String {
        #"{"version":1,\#(settings)"rules":[{"id":"a",\#(parts)}]}"#
    }

    @Test("reads, lints and counts files that are designed to be slow")
    func slowToLint() throws {
        for (what, text) in Self.slowToLint {
            let start = ContinuousClock.now
            let rules = try RoutingRules(text)
            _ = rules.lint()
            var coverage = RuleCoverage(rules)
            coverage.add(coverage)
            let time = ContinuousClock.now - start
            // In a debug build, beside tests that compute; in a release build it is well below a second.
            #expect(time < .seconds(300), "\(what): \(time)")
        }
    }

    @Test("ten thousand rules, each with a test, are read and loaded, and found by what they ask for")
    func tenThousand() async throws {
        let rules = (0..<10_000).map { number in
            #"{"id":"rule-\#(number)","when":{"bucket":"b\#(number)","scope":"APP"},"then":{"handler":"h"}}"#
        }
        let tests = (0..<10_000).map { number in
            #"{"name":"t\#(number)","steps":[{"at":"1s","payload":{"bucketID":"b\#(number)"},"expect":{"rules":["rule-\#(number)"]}}]}"#
        }
        let text =
            "{\"version\":1,\"rules\":[\(rules.joined(separator: ",\n"))],\n\"tests\":[\(tests.joined(separator: ",\n"))]}"
        let file = try RoutingRules(text)
        #expect(file.rules.count == 10_000 && file.tests.count == 10_000)
        #expect(file.tests[9999].position == SourcePosition(line: 20_000, column: 1))
        let receiver = PushReceiver { ScopeFilter() }
        receiver.register("h") { _, _ in }
        try receiver.load(file)
        let payload = #"{"bucketID":"b7654","objectScopeType":"APP","origin":"EVENT"}"#
        guard case .handled(let routes) = await receiver.receive(RawPayload(payload)) else { throw TestError() }
        #expect(routes.ids == ["rule-7654"])
    }
}
