import Foundation
import FoundationXML
import KiiPush
import Synchronization
import Testing

@testable import kiipush
@testable import KiiPushAgent

@Suite("kiipush rules test")
struct RulesTestTests {
    private let good = #"""
        {"version":1,"rules":[{"id":"a","when":{"topic":"t*"},"then":{"run":["/nowhere"]}}],
         "tests":[{"name":"taken","steps":[{"payload":{"topic":"t1","objectScopeType":"APP"},"expect":{"handlers":["a"]}}]},
          {"name":"left","steps":[{"payload":{"n":1},"expect":{"outcome":"unrouted"}}]}]}
        """#
    private let bad = #"""
        {"version":1,"rules":[{"id":"a","then":{"handler":"h"}}],
         "tests":[{"name":"1 < 2 & \"3\" ]]>","steps":[{"payload":{"k":"\u001b\u009b\ufffe"},"expect":{"outcome":"duplicate","rules":[]}}]},
          {"name":"fine","steps":[{"payload":{"n":1},"expect":{"outcome":"handled"}}]},
          {"name":"empty","steps":[]}]}
        """#
    private let broken =
        #"{"version":1,"rules":[{"id":"a","thn":{}},{"id":"b","when":{"buckt":"x"},"then":{"print":true}}]}"#

    @Test("tests that pass are counted, and the exit code is 0")
    func passes() async throws {
        let run = try await ToolRun("rules", "test", file: good)
        #expect(run.code == .fine && run.errors.isEmpty && run.output == ["FILE: 2 tests passed"])
    }

    @Test(
        "each failure is a line of standard error with its place, its why is on standard output, and the next file goes on"
    )
    func fails() async throws {
        let files = try [
            TemporaryFile(broken), TemporaryFile(bad), TemporaryFile(#"{"version":1,"rules":[]}"#), TemporaryFile(good),
        ]
        let run = await ToolRun(["rules", "test"] + files.map(\.path) + ["/nowhere/x.json"])
        #expect(run.code == .failed)
        #expect(
            run.errors == [
                "\(files[0].path):1:23: the key 'then' is missing",
                "\(files[0].path):1:33: unknown key 'thn'; did you mean 'then'?",
                "\(files[0].path):1:61: unknown key 'buckt'; did you mean 'bucket'?",
                #"\#(files[1].path):2:96: test '1 < 2 & "3" ]]>', step 1 (line 2): outcome: expected "duplicate", found "handled""#,
                #"\#(files[1].path):2:118: test '1 < 2 & "3" ]]>', step 1 (line 2): rules: expected [], found ["a"]"#,
                "\(files[1].path):4:3: test 'empty': the test has no steps",
                "\(files[2].path):1:1: the file has no tests; add a list 'tests'",
                "/nowhere/x.json: cannot be read: No such file or directory",
            ])
        #expect(run.output.contains("    rule 'a' takes it (\(files[1].path):1:23)"))
        #expect(
            run.output.suffix(4) == [
                "\(files[1].path): 3 tests, 2 failed", "\(files[2].path): 0 tests passed",
                "\(files[3].path): 2 tests passed", "5 files: 5 tests, 2 failed, 3 of the files cannot be tested",
            ])
    }

    @Test(
        "coverage is told with the places of its gaps, and a bound that is not reached fails",
        arguments: [
            ([], ExitCode.fine), (["--fail-under", "66"], .fine), (["--fail-under=66.7"], .failed),
            (["--fail-under", "100%"], .failed),
        ]
            as [([String], ExitCode)])
    func coverage(options: [String], code: ExitCode) async throws {
        let file = try TemporaryFile(good)
        let run = await ToolRun(["rules", "test", "--coverage", "--filter", "tak*"] + options + [file.path])
        #expect(run.code == code && run.errors.isEmpty == (code == .fine))
        #expect(
            run.output == [
                "\(file.path): 1 test passed", "\(file.path): covered 66.6% (2 of 3 points)",
                "  \(file.path):1:41: rule 'a': topic was never missed",
                "  outcomes: 1 handled; never duplicate, looped, paced, deadLettered, refused, unrouted, failed, undecodable",
            ])
        if code == .failed {
            #expect(run.errors[0].hasPrefix("\(file.path):1:1: the tests cover 66.6% (2 of 3 points), and "))
        }
        let whole = await ToolRun("rules", "test", "--fail-under", "100", file.path)
        #expect(whole.code == .fine && whole.output[1] == "\(file.path): covered 100.0% (3 of 3 points)")
    }

    @Test("JSON has one object a line, with every failure whole")
    func json() async throws {
        let file = try TemporaryFile(bad)
        let run = await ToolRun("rules", "test", "--format", "json", "--coverage", file.path, "/nowhere")
        let lines = try run.output.map {
            try #require(JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
        }
        #expect(lines.map { $0["result"] as? String } == ["failed", "passed", "failed", nil, nil, nil])
        let failures = try #require(lines[0]["failures"] as? [[String: Any]])
        #expect(failures.map { $0["key"] as? String } == ["outcome", "rules"])
        #expect(failures[0]["expected"] as? String == "duplicate" && failures[0]["actual"] as? String == "handled")
        #expect(failures[1]["actual"] as? [String] == ["a"] && failures[1]["stepLine"] as? Int == 2)
        #expect((failures[0]["rules"] as? [[String: Any]])?.first?["answer"] as? String == "takes")
        #expect((lines[3]["coverage"] as? [String: Any])?["percent"] as? Double == 100)
        let problem = #"{"line":1,"column":1,"message":"cannot be read: No such file or directory"}"#
        #expect(run.output[4] == #"{"file":"/nowhere","problems":[\#(problem)]}"#)
        #expect(
            (lines[5]["summary"] as? [String: Int]) == [
                "files": 2, "untestable": 1, "tests": 3, "passed": 1, "failed": 2,
            ])
    }

    @Test("JUnit XML is well-formed, and counts tests, failures and errors")
    func junit() async throws {
        let (file, other, xml) = (
            try TemporaryFile(bad), try TemporaryFile(broken), try TemporaryFile("", name: "junit.xml")
        )
        _ = await ToolRun("rules", "test", "--junit", xml.path, file.path, other.path, "/nowhere/x.json")
        let reader = XMLReader(try xml.contents())
        #expect(reader.isWellFormed)
        #expect(
            reader.elements["testsuites"]?.first?.filter { $0.key != "time" } == [
                "name": "kiipush rules test", "tests": "5", "failures": "2", "errors": "2", "skipped": "0",
            ])
        #expect(
            reader.elements["testcase"]?.map { $0["name"] } == [
                #"1 < 2 & "3" ]]>"#, "fine", "empty", "the file can be read", "the file can be read",
            ])
        #expect(reader.elements["failure"]?.count == 2)
        let why = "/nowhere/x.json:1:1: cannot be read: No such file or directory"
        #expect(reader.elements["error"]?.map { $0["message"]?.hasPrefix(why) } == [false, true])
        #expect(reader.text.contains("rule 'a' takes it"))
        let unwritable = try await ToolRun("rules", "test", "--junit", "/nowhere/x.xml", file: good)
        #expect(
            unwritable.code == .failed
                && unwritable.errors == ["/nowhere/x.xml: cannot be written: No such file or directory"])
    }

    @Test("a failure says why the payload has nothing where a rule asks for something", arguments: ["text", "json"])
    func reasons(format: String) async throws {
        let file = try TemporaryFile(
            #"""
            {"version":1,"rules":[{"id":"ring","when":{"topic":"ring-*"},"then":{"handler":"reload"}}],
             "tests":[{"name":"t","steps":[{"payload":{"topic":"ring-front"},"expect":{"rules":["ring"],"handlers":["reload"]}}]}]}
            """#)
        let xml = try TemporaryFile("", name: "junit.xml")
        let run = await ToolRun("rules", "test", "--format", format, "--junit", xml.path, file.path)
        let reason = "the payload names it, but states no complete scope"
        #expect(
            run.output.contains { $0.contains(format == "json" ? #""reason":"\#(reason)""# : "nothing: \(reason) (") })
        #expect(try xml.contents().contains(reason))
        #expect(run.errors.count == 2 && run.errors.allSatisfy { $0.hasSuffix("found []") })
    }

    @Test("any character in a name or a message leaves the XML well-formed")
    func characters() {
        let all = (0...0x1_FFFF).compactMap { Unicode.Scalar($0 as Int) }
        let text = String(String.UnicodeScalarView(all))
        let xml = "<a b=\"\(JUnitReport.escaped(text))\">\(JUnitReport.escaped(text, isElement: true))</a>"
        let reader = XMLReader(xml)
        #expect(reader.isWellFormed && reader.elements["a"]?.first?["b"]?.contains("\\u{1B}") == true)
    }

    @Test("a long run shows how far it is, where somebody looks, and leaves nothing behind", arguments: [true, false])
    func progress(isTerminal: Bool) {
        let shown = Mutex<[String]>([])
        var console = Console(print: { _ in }, error: { _ in })
        if isTerminal { console.progress = { text in shown.withLock { $0.append(text) } } }
        var short = Progress("a.json", 2, console)
        short.step()
        short.clear()
        #expect(shown.withLock { $0.isEmpty })
        var long = Progress("b\u{1B}.json", 2, console, after: .zero)
        for _ in 0..<2 { long.step() }
        for _ in 0..<2 { long.clear() }
        let expected = ["\rb\\u{1B}.json: 1 of 2 tests\u{1B}[K", "\r\u{1B}[K"]
        #expect(shown.withLock { $0 } == (isTerminal ? expected : []))
    }

    @Test("a filter that matches no test fails")
    func filter() async throws {
        let run = try await ToolRun("rules", "test", "--filter", "nothing*", file: good)
        #expect(run.code == .failed && run.errors == ["kiipush rules test: no test matches 'nothing*', so nothing ran"])
        #expect(run.output == ["FILE: no test matches 'nothing*', so none of 2 ran"])
    }
}

/// What a real XML parser finds in a document.
private final class XMLReader: NSObject, XMLParserDelegate {
    private(set) var elements: [String: [[String: String]]] = [:]
    private(set) var text = ""
    private(set) var isWellFormed = false

    init(_ xml: String) {
        super.init()
        let parser = XMLParser(data: Data(xml.utf8))
        parser.delegate = self
        isWellFormed = parser.parse()
    }

    func parser(
        _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
        attributes: [String: String]
    ) {
        elements[name, default: []].append(attributes)
    }

    func parser(_ parser: XMLParser, foundCharacters string: String) { text += string }
}
