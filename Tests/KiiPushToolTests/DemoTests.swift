import Testing

@testable import KiiPushAgent
@testable import kiipush

@Suite("kiipush demo")
struct DemoTests {
    @Test("the demo names every kind, drops a duplicate, slows a loop down, and tells the same story each time")
    func story() async {
        let run = await ToolRun("demo")
        #expect(run.code == .fine && run.errors.isEmpty)
        #expect(await ToolRun("demo").output == run.output)
        let outcomes = run.output.filter { $0.hasPrefix("    outcome: ") }.map { $0.dropFirst(13) }
        #expect(
            outcomes.map { String($0.prefix { $0 != "," }) } == [
                "handled", "duplicate (done)", "handled", "handled", "handled", "handled", "looped (identity)",
                "unrouted (ambiguous)", "refused (app)", "undecodable (unexpectedEnd)", "looped (killSwitch)",
            ])
        #expect(outcomes.filter { $0.hasSuffix("accept") }.count == 10)
        #expect(outcomes.filter { $0.hasSuffix("reject") }.count == 1)
        let text = run.output.joined(separator: "\n")
        for kind in ["Push to App, certain", "Push to User, certain", "Direct Push, certain", "Direct Push, likely"] {
            #expect(text.contains(kind))
        }
        #expect(text.contains("11 messages, each with one outcome:"))
        #expect(run.output.filter { $0.hasPrefix("    handler: ") }.count == 5)
    }

    @Test("a loop is slowed down, ends, and does not begin where its write is announced")
    func loop() async {
        let text = await ToolRun("demo").output.joined(separator: "\n")
        let story = [
            "60 pushes were handled, each caused the next one; then: paced",
            "within 1 h: 701 handled, 701 came back", "lifts this",
            "within 1 h: 1 handled, 0 came back",
            "1 push was handled, each caused the next one; then: looped (echo)",
        ]
        var left = text[...]
        for line in story {
            let found = left.ranges(of: line).first
            #expect(found != nil, "\(line)")
            left = found.map { left[$0.upperBound...] } ?? left
        }
    }
}
