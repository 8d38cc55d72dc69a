import Foundation
import KiiPush
import KiiPushTesting
import Testing

@testable import kiipush
@testable import KiiPushAgent

@Suite("kiipush report")
struct ReportTests {
    private struct Written {
        let run: ToolRun
        let page: String
        /// The data of the page, as a browser reads it.
        let data: DataValue

        func texts(_ key: String) -> [String] {
            if case .array(let all)? = data[key] { all.compactMap(\.string) } else { [] }
        }

        func column(_ name: String) -> [Int64] {
            if case .array(let all)? = data["columns"]?[name] { all.compactMap(\.integer) } else { [] }
        }

        func objects(_ key: String) -> [DataValue] { if case .array(let all)? = data[key] { all } else { [] } }

        var findings: [String] { objects("findings").compactMap { $0["what"]?.string } }
        var outcomes: [String] {
            let names = texts("outcomes")
            return column("outcome").map { names[Int($0)] }
        }
    }

    private func report(_ capture: String, _ options: String...) async throws -> Written {
        let file = try TemporaryFile(capture, name: "capture.jsonl")
        let page = file.path + ".html"
        let run = await ToolRun(["report", file.path, "-o", page] + options)
        let text = try String(contentsOfFile: page, encoding: .utf8)
        return Written(run: run, page: text, data: try Self.data(of: text))
    }

    static func data(of page: String) throws -> DataValue {
        let start = "<script type=\"application/json\" id=\"data\">"
        let from = try #require(page.range(of: start)?.upperBound)
        let to = try #require(page.range(of: "</script>", range: from..<page.endIndex)?.lowerBound)
        return try #require(DataValue(json: String(page[from..<to])))
    }

    @Test("what a loop lets wait is told, with the command that stops it; the messages around it do not wait")
    func loop() async throws {
        let written = try await report(await Captures.loop())
        #expect(written.run.code == .fine && written.run.errors.isEmpty)
        let first = try #require(written.objects("findings").first)
        #expect(first["shows"]?.string == "waited", "\(written.findings)")
        #expect(first["what"]?.string?.contains("bucket counter / c-1") == true, "\(written.findings)")
        #expect(first["command"]?.string == "kiipush kill --for 10m kiicloud://buckets/counter")
        let lanes = written.texts("lanes")
        let waited = zip(written.column("lane"), written.column("waited")).filter { $0.1 > 0 }.map { lanes[Int($0.0)] }
        #expect(Set(waited) == ["bucket counter / c-1"])
    }

    @Test("an honest burst is no loop: it was late, and all of it is handled")
    func burst() async throws {
        let written = try await report(Captures.burst())
        #expect(written.findings.contains { $0.contains("bucket sensor / temperature") }, "\(written.findings)")
        #expect(written.findings.first == "Nothing went wrong.")
        #expect(Set(written.outcomes) == ["handled", "duplicate"])
        #expect(written.column("waited").contains { $0 > 3000 })
    }
}

extension ReportTests {
    @Test("the captures of the samples are those that are made here")
    func samples() async throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent().appending(path: "Samples/Captures")
        func text(_ name: String) throws -> String {
            try String(contentsOf: folder.appending(path: name), encoding: .utf8)
        }
        #expect(try text("loop.jsonl") == (await Captures.loop()))
        #expect(try text("burst.jsonl") == Captures.burst())
    }

    @Test("a page shows no value of a payload unless it is asked to")
    func values() async throws {
        let fixture = PayloadFixture.pushToUser(sender: "zebra-sender", data: [("code", .string("zebra-data"))])
        let rules = try TemporaryFile(
            #"""
            {"version":1,"rules":[
             {"id":"code","when":{"topic":"news","data":{"code":"1234"},"sender":"user:boss"},"then":{"handler":"h"}},
             {"id":"rest","then":{"handler":"h"}}]}
            """#, name: "rules.json")
        let plain = try await report(Captures.line(0, fixture), "--rules", rules.path)
        #expect(!plain.page.contains("zebra") && !plain.page.contains("hello"))
        #expect(plain.page.contains("1234"), "what a rule asks for is the rules' own")
        let shown = try await report(Captures.line(0, fixture, as: .long), "--rules", rules.path, "--values")
        #expect(shown.texts("payloads").first?.contains("zebra-data") == true)
        #expect(shown.page.contains("zebra-sender"))
    }

    @Test("a click shows what explain says: each rule with its conditions, each stage, the outcome")
    func ways() async throws {
        let rules = try TemporaryFile(
            #"""
            {"version":1,"rules":[
             {"id":"other","when":{"bucket":"other","object":"*"},"then":{"handler":"h"}},
             {"id":"mine","when":{"bucket":"settings"},"then":{"handler":"h"}}]}
            """#, name: "rules.json")
        let written = try await report(Captures.line(0, .pushToApp()), "--rules", rules.path)
        let way = try #require(written.objects("ways").first)
        #expect(way["words"]?.string == "the handler 'h' is called")
        guard case .array(let all)? = way["rules"], case .array(let stages)? = way["stages"] else {
            Issue.record("no rules or no stages")
            return
        }
        #expect(all.map { $0["id"]?.string } == ["other", "mine"])
        #expect(all.map { $0["standing"]?.string } == ["missed", "taken"] && all[0]["nearMiss"]?.bool == true)
        #expect(stages.first?["name"]?.string == "decode" && stages.last?["verdict"]?.string == "handled")
        #expect(written.texts("routes") == ["mine"])
    }

    @Test("what 'tap' printed of an agent is shown as it was; a message that waited and its end are one")
    func tapped() async throws {
        let time = "2026-11-22T10:00:0"
        let lines = [
            #"{"kind":"pushToApp","bucket":{"name":"b"},"object":{"id":"o"},"time":"\#(time)1.000Z","message":7,"outcome":"paced","reason":null,"why":null,"route":"r","routes":["r"],"waited":0,"took":null}"#,
            #"{"kind":"pushToUser","topic":{"name":"t"},"data":{"secret":"zebra"},"time":"\#(time)2.000Z","message":8,"outcome":"failed","reason":"r","why":"handle r: threw E","route":"r","routes":["r"],"waited":10,"took":990}"#,
            #"{"kind":"pushToApp","bucket":{"name":"b"},"object":{"id":"o"},"time":"\#(time)5.000Z","message":7,"outcome":"handled","reason":null,"why":null,"route":"r","routes":["r"],"waited":4000,"took":1}"#,
            #"{"leftOut":3}"#,
        ]
        let written = try await report(lines.joined(separator: "\n"))
        #expect(written.run.code == .fine && written.data["origin"]?.string == "watched")
        #expect(written.outcomes == ["handled", "failed"] && written.column("waited") == [4000, -1])
        #expect(written.column("time") == [0, 0], "the second arrived a second before its end")
        #expect(written.data["beginning"]?.string == "\(time)1.000Z" && !written.page.contains("zebra"))
        #expect(written.findings.contains { $0.hasPrefix("3 messages missing") })
        #expect(written.findings.contains { $0 == "1 message failed, first at r." })
    }

    @Test("hostile texts appear in the page only as data")
    func hostile() async throws {
        let written = try await report(Captures.hostile(), "--values")
        #expect(written.run.code == .fine, "\(written.run.errors)")
        let data = try #require(written.page.range(of: "id=\"data\">")?.upperBound)
        let end = try #require(written.page.range(of: "</script>", range: data..<written.page.endIndex)?.lowerBound)
        #expect(!written.page[data..<end].utf8.contains { "<>&".utf8.contains($0) })
        #expect(written.page.components(separatedBy: "<script").count == 3, "two scripts: data and code")
        #expect(written.page.components(separatedBy: ReportPage.script).count == 2)
        #expect(written.column("time").count == Captures.hostileTexts.count * 4)
        for text in written.texts("places") + written.texts("lanes") {
            #expect(!text.unicodeScalars.contains { $0.value < 32 || $0 == "\u{202E}" || $0 == "\u{2028}" })
        }
    }

    @Test("the page's policy names the digests of its script and of its style, and allows nothing else")
    func policy() throws {
        let shell = try #require(Shell("bash"))
        for (text, digest) in [
            (ReportPage.script, ReportPage.scriptDigest), (ReportPage.style, ReportPage.styleDigest),
        ] {
            let file = try TemporaryFile(text, name: "part")
            let sum = try shell.run(["-c", "sha256sum < \"$1\" | cut -c1-64 | xxd -r -p | base64", "bash", file.path])
            #expect(sum == digest + "\n", "write this digest into ReportPage.swift")
        }
        let page = ReportPage(report: Report(source: "x", origin: .replayed, showsValues: false)).text
        #expect(page.contains("default-src 'none'; script-src 'sha256-\(ReportPage.scriptDigest)';"))
        #expect(!page.contains("http://") && !page.contains("https://") && !page.contains("{{"))
    }

    @Test("names, ways, payloads and messages are bounded, and rare ways are kept when dull ones are too many")
    func bounds() async throws {
        var names = ReportNames()
        _ = names.number(of: String(repeating: "a", count: 5000))
        #expect(names.all[0].count == ReportNames.mostCharacters)
        #expect(names.number(of: "e\u{301}") != names.number(of: "\u{E9}"), "two spellings are two names")
        var ways = ReportWays()
        func way(_ number: Int) -> ReportWay { ReportWay(json: "\(number)" + String(repeating: "w", count: 100_000)) }
        let dull = (0..<100).map { ways.number(of: way($0), isDull: true) }
        #expect(dull.contains(-1) && ways.number(of: way(1000), isDull: false) >= 0)
        #expect(ways.number(of: way(0), isDull: true) == 0)
        var run = try ReplayedReport(source: "c", rules: nil, app: nil, showsValues: true, limit: 2)
        let long = PayloadFixture.pushToUser(data: [("text", .string(String(repeating: "x", count: 9000)))])
        for number in 1...3 { try await run.add(Array(Captures.line(number, long).utf8), number) }
        let report = run.finish()
        #expect(report.messages.count == 2 && report.leftOut == 1)
        #expect(report.payloads.allSatisfy { $0.utf8.count < 4200 })
        #expect(ReportSummary(report).findings.contains { $0.what.hasPrefix("1 message left out") })
    }

    @Test("what is wrong is told, and nothing is written")
    func mistakes() async throws {
        let capture = try TemporaryFile(Captures.line(0, .pushToUser()), name: "c.jsonl")
        let empty = try TemporaryFile("\n \n", name: "c.jsonl")
        let tapped = try TemporaryFile(#"{"leftOut":1}"#, name: "c.jsonl")
        let place = capture.path + ".html"
        let cases: [([String], ExitCode, String)] = [
            ([capture.path], .usage, ToolRun.mistake("report", "--output is missing, such as -o report.html")),
            (["-o", place], .usage, ToolRun.mistake("report", "expected one capture, or --watch")),
            (
                ["-", "--rules", "-", "-o", place], .usage,
                ToolRun.mistake("report", "standard input can be only one of the files")
            ),
            (
                [empty.path, "-o", place], .failed,
                "\(empty.path):1:1: the capture has no messages; nothing to report"
            ),
            (
                [tapped.path, "-o", place, "--app", "a"], .failed,
                "\(tapped.path):1:1: this is output of 'kiipush tap', which cannot be combined with --rules or --app"
            ),
            (["/nowhere/c", "-o", place], .failed, "/nowhere/c: cannot be read: No such file or directory"),
            (
                [capture.path, "-o", "/nowhere/p"], .failed,
                "kiipush report: /nowhere/p: cannot be written: No such file or directory"
            ),
        ]
        for (arguments, code, error) in cases {
            let run = await ToolRun(["report"] + arguments)
            #expect(run.code == code && run.errors == [error] && run.output.isEmpty, "\(run.errors)")
        }
        #expect(!FileManager.default.fileExists(atPath: place))
    }

    @Test("a line that is no message is told with its place; the page has the others, and only its owner may read it")
    func broken() async throws {
        let text = "no\n" + Captures.line(0, .pushToUser()) + "\n{\"at\":\n"
        let written = try await report(text)
        #expect(written.run.code == .failed && written.run.errors.count == 2 && written.outcomes == ["handled"])
        #expect(written.run.output.first?.hasSuffix(": 1 message: 1 handled") == true)
        let file = try TemporaryFile(text, name: "c.jsonl")
        _ = await ToolRun(["report", file.path, "-o", file.path + ".html"])
        let mode = try FileManager.default.attributesOfItem(atPath: file.path + ".html")[.posixPermissions] as? Int
        #expect(mode == 0o600)
    }
}
