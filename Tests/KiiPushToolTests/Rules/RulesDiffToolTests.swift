import KiiPush
import KiiPushTesting
import Testing

@testable import kiipush
@testable import KiiPushAgent

@Suite("kiipush rules diff")
struct RulesDiffToolTests {
    private static func rules(_ bucket: String, settings: String = "") -> String {
        """
        {"version":1,\(settings)"rules":[{"id":"a","when":{"bucket":"\(bucket)"},"then":{"handler":"h"}},
        {"id":"t","when":{"topic":"*"},"then":{"print":true}}]}
        """
    }

    private static func step(_ at: String, _ fixture: PayloadFixture) -> String {
        #"{"at":"\#(at)","transport":"mqtt","payload":\#(fixture.json(.long))}"#
    }

    private static func corpus(_ count: Int) -> String {
        let steps = (0..<count).map { number -> String in
            let time = Int64(number)
            let fixture: PayloadFixture =
                number % 3 == 0 ? .pushToUser(sentAt: time) : .pushToApp(object: "o\(number)", sentAt: time)
            return step("\(number)s", fixture)
        }
        return steps.joined(separator: "\n")
    }

    private func diff(_ old: String, _ new: String, _ corpus: String, _ options: String...) async throws -> Run {
        let (old, new) = (try TemporaryFile(old, name: "old.json"), try TemporaryFile(new, name: "new.json"))
        let corpus = try TemporaryFile(corpus, name: "corpus.jsonl")
        let run = await ToolRun(["rules", "diff", old.path, new.path, "--corpus", corpus.path] + options)
        func named(_ line: String) -> String {
            line.replacing(old.path, with: "OLD").replacing(new.path, with: "NEW").replacing(corpus.path, with: "C")
        }
        return Run(code: run.code, output: run.output.map(named), errors: run.errors.map(named))
    }

    private struct Run {
        let code: ExitCode
        let output: [String]
        let errors: [String]
    }

    @Test("changes are counted by kind, with the lines of the first ones")
    func counts() async throws {
        let run = try await diff(Self.rules("settings"), Self.rules("other"), Self.corpus(30) + "\n\n")
        #expect(run.code == .failed && run.errors.isEmpty)
        #expect(
            run.output == [
                "C: 30 messages, 20 end otherwise under NEW than under OLD", "",
                "     20  was  handled by a, calling h", "         now  unrouted (noRoute)",
                "         at   C:2, C:3, C:5, …",
            ])
    }

    @Test("as JSON each change is an object, and the summary the last one")
    func json() async throws {
        let run = try await diff(
            Self.rules("settings"), Self.rules("x"), Self.corpus(4), "--format", "json", "--limit", "1")
        #expect(
            run.output == [
                #"{"old":{"outcome":"handled","reason":null,"rules":["a"],"handlers":["h"]},"new":{"outcome":"unrouted","reason":"noRoute","rules":[],"handlers":[]},"count":2,"lines":[2]}"#,
                #"{"messages":4,"changed":2}"#,
            ])
    }

    @Test("the same rules change nothing, and exit with 0")
    func same() async throws {
        let run = try await diff(Self.rules("settings"), Self.rules("settings"), Self.corpus(9))
        #expect(run.code == .fine && run.output == ["C: 9 messages, 0 end otherwise under NEW than under OLD"])
    }

    @Test("what the chain drops under one version counts too: duplicates by the virtual clock, and the pace")
    func chain() async throws {
        let repeated = [Self.step("0s", .pushToApp()), Self.step("30s", .pushToApp()), Self.step("90s", .pushToApp())]
        let short = Self.rules("settings", settings: #""dedupe":{"window":"1m"},"#)
        let run = try await diff(Self.rules("settings"), short, repeated.joined(separator: "\n"))
        #expect(
            run.output == [
                "C: 3 messages, 1 ends otherwise under NEW than under OLD", "",
                "      1  was  duplicate (done) by a", "         now  handled by a, calling h", "         at   C:3",
            ])
    }

    @Test("a corpus without a message is nothing to compare", arguments: ["", "\n \n"])
    func empty(corpus: String) async throws {
        let run = try await diff(Self.rules("a"), Self.rules("b"), corpus)
        #expect(run.code == .unanswered && run.output.isEmpty)
        #expect(run.errors == ["C:1:1: the corpus has no messages; nothing to compare"])
    }

    @Test("a bare payload is told how to become a step; a mistyped key is told what it may be")
    func barePayload() async throws {
        let bare = PayloadFixture.pushToApp().json(.long)
        let run = try await diff(
            Self.rules("a"), Self.rules("a"), bare + "\n" + #"{"payloda":{}}"# + "\n" + #"{"raw":"{}"}"#)
        #expect(run.code == .unanswered)
        #expect(run.errors.first == #"C:1:1: this looks like a payload, not a step; wrap it: {"payload": …}"#)
        #expect(run.errors.contains("C:2:2: unknown key 'payloda'; did you mean 'payload'?"))
        #expect(run.errors.allSatisfy { !$0.hasPrefix("C:3") })
    }

    @Test("what is no message is refused at its place, a gap too; a captured gap is a payload")
    func noMessages() async throws {
        let rules = #"{"version":1,"rules":[{"id":"g","on":"gap","then":{"handler":"h"}}]}"#
        let captured = #"{"transport":"kiipush.gap","payload":{"gap":"sessionLost","reason":"","number":1}}"#
        let run = try await diff(
            rules, Self.rules("a"),
            [#"{"kill":"*"}"#, #"{"at":"1s","gap":"sessionLost"}"#, captured].joined(separator: "\n"))
        let why = "expected 'payload' or 'raw': a corpus contains incoming messages only"
        #expect(run.code == .unanswered && run.errors == ["C:1:1: \(why)", "C:2:12: \(why)"])
        #expect(run.output.contains("      1  was  handled by g, calling h"), "\(run.output)")
    }

    @Test("of what is no corpus twenty errors are told; one that has messages is read to its end")
    func manyBadLines() async throws {
        let bad = String(repeating: "no\n", count: 50)
        let log = try await diff(Self.rules("a"), Self.rules("a"), bad)
        #expect(log.code == .unanswered && log.output.isEmpty)
        #expect(log.errors.first?.hasPrefix("C:1:1: this is no capture, since no line is a JSON object") == true)
        let run = try await diff(Self.rules("a"), Self.rules("a"), "{\n" + bad)
        #expect(run.code == .unanswered && run.output.isEmpty && run.errors.count == 22)
        #expect(run.errors[19].hasPrefix("C:20:2: "))
        #expect(run.errors[20].hasPrefix("C:1:1: stopped after 20 lines that are not steps"))
        let mixed = try await diff(
            Self.rules("a"), Self.rules("a"), Self.corpus(1) + "\n" + bad + Self.step("9s", .pushToApp()))
        #expect(mixed.code == .unanswered && mixed.output.first?.hasPrefix("C: 2 messages") == true)
        #expect(mixed.errors.count == 21)
        #expect(mixed.errors.last == "C:1:1: and 30 more lines that are no steps")
    }

    @Test("a limit of the age changes what came too late, by the date that the corpus begins with")
    func ages() async throws {
        func rules(_ maxAge: String) -> String {
            #"{"version":1,"rules":[{"id":"t","then":{"print":true},"delivery":{"maxAge":\#(maxAge)}}]}"#
        }
        let start: Int64 = 1_700_000_000_000
        // The second was sent right behind the first and came an hour later, the third came at once.
        let corpus = [
            Self.step("0s", .pushToUser(sentAt: start)), Self.step("1h", .pushToUser(sentAt: start + 1)),
            Self.step("1h", .pushToUser(sentAt: start + 3_599_000)),
        ]
        let run = try await diff(rules("false"), rules(#""30s""#), corpus.joined(separator: "\n"))
        #expect(run.code == .failed)
        #expect(
            run.output == [
                "C: 3 messages, 1 ends otherwise under NEW than under OLD", "", "      1  was  handled by t",
                "         now  expired by t", "         at   C:2",
            ])
    }

    @Test("a line that is no step is reported with its place; the others count, and the exit code is 2")
    func broken() async throws {
        let lines = [
            Self.step("1s", .pushToApp()), "{\"at\":\"2s\",", #"{"at":"0s","payload":{}}"#, #"{"kill":"a"}"#, "[]",
            #"{"at":"3s","raw":"{"}"#, Self.step("4s", .pushToApp(sentAt: 9)),
        ]
        let run = try await diff(Self.rules("settings"), Self.rules("settings"), lines.joined(separator: "\n"))
        #expect(run.code == .unanswered)
        #expect(run.output == ["C: 3 messages, 0 end otherwise under NEW than under OLD"])
        #expect(run.errors.map { String($0.prefix(4)) } == ["C:2:", "C:3:", "C:4:", "C:5:"])
        #expect(run.errors[1] == "C:3:7: expected 1s or later, the time of the step before")
    }
}
