import Testing

@testable import kiipush
@testable import KiiPushAgent

@Suite("kiipush rules lint")
struct RulesLintToolTests {
    private static let clean = #"{"version":1,"rules":[{"id":"a","when":{"bucket":"b"},"then":{"handler":"h"}}]}"#
    private static let warned =
        #"{"version":1,"rules":[{"id":"a","when":{"transport":"mqt"},"then":{"handler":"h"}}]}"#
    private static let wrong = """
        {"version":1,"rules":[{"id":"a","when":{},"then":{"handler":"h"}},
        {"id":"late\\u001b[2J","when":{"bucket":"bb"},"then":{"handler":"h"}}]}
        """

    @Test(
        "the exit code says whether there are errors, or warnings where they count",
        arguments: [
            (clean, [], ExitCode.fine), (clean, ["--strict"], .fine), (clean, ["--handlers", "h"], .fine),
            (warned, [], .fine), (warned, ["--strict"], .failed), (clean, ["--handlers", "h,i"], .fine),
            (clean, ["--handlers", "h,i", "--strict"], .failed), (clean, ["--handlers=x"], .failed),
            (#"{"version":1,"rules":[{"id":"a"}]}"#, [], .failed), (clean, ["--wrong"], .usage),
            (clean, ["--format", "xml"], .usage),
        ])
    func exits(text: String, options: [String], code: ExitCode) async throws {
        let file = try TemporaryFile(text)
        #expect(await ToolRun(["rules", "lint"] + options + [file.path]).code == code)
    }

    @Test("a corpus is checked too: each finding once, with its first line and how many there are")
    func corpus() async throws {
        let rules = try TemporaryFile(Self.clean)
        let corpus = try TemporaryFile(
            """
            {"at":"0s","transport":"mqtt","payload":{"topic":"t","when":1795641000000}}
            {"at":"1s","transport":"mqtt","payload":{"topic":"t","when":1795641000}}
            {"at":"2s","transport":"mqtt","payload":{"x":{"bucketID":"b"}}}
            {"at":"3s","transport":"mqtt","payload":{"topic":"t","when":1795641001}}
            {"at":"4s","transport":"mqtt","raw":"{"}
            """, name: "corpus.jsonl")
        let run = await ToolRun("rules", "lint", "--corpus", corpus.path, rules.path)
        #expect(run.code == .fine && run.output == ["\(rules.path): 1 rule: nothing found"])
        let time = "'when' is probably in seconds; it is due in milliseconds since 1970"
        #expect(
            run.errors.first == "\(corpus.path):2:1: warning: \(time) (and 1 more line) [messageHint]", "\(run.errors)")
        #expect(run.errors.dropFirst().first?.contains(":3:1: warning: Kii's keys are inside 'x'") == true)
        #expect(
            run.errors.last == "\(corpus.path):5:1: warning: the payload cannot be decoded: unexpectedEnd [undecodable]"
        )
        let strict = await ToolRun("rules", "lint", "--strict", "--format", "json", "--corpus", corpus.path, rules.path)
        #expect(strict.code == .failed && strict.output.count == 3)
        #expect(
            strict.output.first?.contains(#""line":2,"column":1,"severity":"warning","code":"messageHint""#) == true)
        let empty = try TemporaryFile("\n", name: "corpus.jsonl")
        let unchecked = await ToolRun("rules", "lint", "--corpus", empty.path, rules.path)
        #expect(unchecked.code == .failed)
        #expect(unchecked.errors == ["\(empty.path):1:1: the corpus has no messages; nothing to check"])
        let none = await ToolRun("rules", "lint", "--corpus", "/nowhere/x", rules.path)
        #expect(none.code == .failed && none.errors == ["/nowhere/x: cannot be read: No such file or directory"])
    }

    @Test("findings go to standard error, one a line, and a summary to standard output")
    func text() async throws {
        let run = try await ToolRun("rules", "lint", file: Self.wrong.replacing("\\u001b[2J", with: "\u{202E}"))
        #expect(run.code == .failed)
        #expect(
            run.errors == [
                "FILE:2:1: error: the rule 'late\\u{202E}' never takes a message: the earlier rule 'a' (1:23) takes them all; put it before, or give that one \"continue\": true [shadowed]"
            ])
        #expect(run.output == ["FILE: 2 rules: 1 error, 0 warnings"])
    }

    @Test("as JSON a finding is one object on standard output")
    func json() async throws {
        let file = try TemporaryFile(Self.warned)
        let run = await ToolRun("rules", "lint", "--format", "json", file.path)
        #expect(run.errors.isEmpty)
        #expect(
            run.output == [
                """
                {"file":"\(file.path)","line":1,"column":41,"severity":"warning","code":"unknownTransport","rule":"a",\
                "message":"no transport of this SDK is called 'mqt'; did you mean 'mqtt'?","related":[]}
                """
            ])
    }

    @Test("all problems of a file that cannot be read as rules are reported, and the next file is linted")
    func broken() async throws {
        let broken = try TemporaryFile(#"{"version":1,"rules":[{"id":"a"},{"id":"b","then":{"handlr":"h"}}]}"#)
        let file = try TemporaryFile(Self.clean)
        let run = await ToolRun("rules", "lint", broken.path, "/nowhere/r.json", file.path)
        #expect(run.code == .failed)
        #expect(
            run.errors == [
                "\(broken.path):1:23: the key 'then' is missing",
                "\(broken.path):1:52: unknown key 'handlr'; did you mean 'handler'?",
                "/nowhere/r.json: cannot be read: No such file or directory",
            ])
        #expect(run.output == ["\(file.path): 1 rule: nothing found"])
    }

    @Test("as JSON a file that cannot be read is an object with its problems on standard output")
    func unreadable() async throws {
        let broken = try TemporaryFile(#"{"version":1,"rules":[{"id":"a"}]}"#)
        let run = await ToolRun("rules", "lint", "--format", "json", broken.path, "/nowhere/r.json")
        #expect(run.code == .failed && run.errors.count == 2)
        #expect(
            run.output == [
                #"{"file":"\#(broken.path)","problems":[{"line":1,"column":23,"message":"the key 'then' is missing"}]}"#,
                #"{"file":"/nowhere/r.json","problems":[{"line":1,"column":1,"message":"cannot be read: No such file or directory"}]}"#,
            ])
    }

    @Test("the schema that is printed is the library's")
    func schema() async {
        let run = await ToolRun("rules", "schema")
        #expect(run.code == .fine && run.output.count == 1)
        #expect(run.output[0].hasPrefix("{") && run.output[0].hasSuffix("}") && run.output[0].contains("2020-12"))
    }
}
