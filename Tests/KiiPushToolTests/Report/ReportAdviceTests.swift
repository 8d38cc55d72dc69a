import Foundation
import Glibc
import KiiPush
import Testing

@testable import kiipush
@testable import KiiPushAgent

/// The commands that a report advises, pasted into a shell beside the agent that the capture is of.
@Suite("what a report advises", .timeLimit(.minutes(5)))
struct ReportAdviceTests {
    private let folder: TemporaryFile
    private let state: String
    /// A rule's id that a shell would take apart, and the tool for an option.
    private static let odd = "-my rule's $HOME"

    init() throws {
        folder = try TemporaryFile(
            #"{"version":1,"rules":[{"id":"\#(Self.odd)","when":{"bucket":"counter"},"then":{"print":true}}]}"#,
            name: "rules.json")
        state = folder.directory + "/agent's state"
    }

    private func commands(_ capture: String, _ options: String...) async throws -> [String] {
        let file = try TemporaryFile(capture, name: "capture.jsonl")
        let page = file.path + ".html"
        _ = await ToolRun(["report", file.path, "-o", page, "--state", state] + options)
        let data = try ReportTests.data(of: String(contentsOfFile: page, encoding: .utf8))
        guard case .array(let findings)? = data["findings"] else { return [] }
        return findings.compactMap { $0["command"]?.string }
    }

    private func paste(_ command: String) async throws -> ToolRun {
        let shell = try #require(Shell("bash"))
        let text = try shell.run(["-c", "kiipush() { printf '%s\\n' \"$@\"; }; \(command)"])
        return await ToolRun(text.split(separator: "\n").map { String($0) })
    }

    private static func tapped(_ outcome: String, _ reason: String, _ number: Int) -> String {
        #"{"kind":"pushToApp","bucket":{"name":"counter","uri":"kiicloud://buckets/counter"},"object":{"id":"c"},"#
            + #""time":"2026-11-22T10:00:00.000Z","message":\#(number),"outcome":"\#(outcome)","reason":"\#(reason)","#
            + #""route":"\#(odd)","routes":["\#(odd)"],"waited":0,"took":1}"#
    }

    @Test("the command against a loop stops it, with and without the agent's rules", arguments: [false, true])
    func loop(withRules: Bool) async throws {
        let run = try WatchedRun(folder.path, state)
        let capture = await Captures.loop()
        let commands = withRules ? try await commands(capture, "--rules", folder.path) : try await commands(capture)
        let command = try #require(commands.first)
        #expect(command.contains(withRules ? "'-my rule'" : "kiicloud://buckets/counter"), "\(command)")
        let pasted = try await paste(command)
        #expect(pasted.code == .fine && pasted.errors.isEmpty, "\(command): \(pasted.errors)")
        try run.send(#"{"bucketID":"counter","objectScopeType":"APP","objectID":"c-1","when":1}"#)
        try run.agent.wait { $0.log.contains("looped (killSwitch)") }
        #expect(try run.agent.stop() == 0)
    }

    @Test("every other command does what it is advised for")
    func others() async throws {
        let run = try WatchedRun(folder.path, state)
        let lines = [("looped", "killSwitch"), ("deadLettered", "failed"), ("quarantined", ""), ("failed", odd)]
        let capture = lines.enumerated().map { Self.tapped($1.0, $1.1, $0) }.joined(separator: "\n")
        let commands = try await commands(capture)
        #expect(commands.count == lines.count)
        for command in commands {
            let pasted = try await paste(command)
            #expect(pasted.code == .fine, "\(command): \(pasted.errors)")
        }
        #expect(try run.agent.stop() == 0)
    }

    @Test("a loop on a topic of an unknown route is stopped by switching off everything")
    func topic() throws {
        var report = Report(source: "c", origin: .replayed, showsValues: false)
        let lane = report.lanes.number(of: "topic news")
        report.messages.append(
            ReportMessage(
                time: 0, line: 1, kind: report.kinds.number(of: "pushToUser"),
                place: report.places.number(of: "topic news"), lane: lane, route: report.routes.number(of: "all"),
                outcome: report.outcomes.number(of: "paced"), reason: report.reasons.number(of: ""), way: -1, end: nil))
        func command() -> String? { ReportSummary(report).findings.first?.command }
        #expect(command() == "kiipush kill --for 10m '*'")
        report.bucketURIs[lane] = "kiicloud://groups/g/buckets/CRYPTO:b"
        #expect(command() == "kiipush kill --for 10m kiicloud://groups/g/buckets/CRYPTO:b")
    }

    private var odd: String { Self.odd }
}

@Suite("kiipush report --watch, and the agent that it watches", .timeLimit(.minutes(5)))
struct WatchReportTests {
    private let folder: TemporaryFile
    private var state: String { folder.directory + "/state" }
    private var page: String { folder.directory + "/report.html" }

    init() throws { folder = try TemporaryFile(ReceiveTests.rules, name: "rules.json") }

    private func report(_ arguments: String...) throws -> RunningAgent {
        try RunningAgent(command: ["report", "--watch", "--state", state, "-o", page] + arguments)
    }

    @Test("what ends while it watches is on the page, and the agent goes on")
    func watches() throws {
        let run = try WatchedRun(folder.path, state)
        let report = try report("--for", "5s")
        var number = 0
        try report.wait { report in
            number += 1
            try? run.send(
                #"{"bucketID":"settings","objectScopeType":"APP","objectID":"o\#(number)","when":\#(number)}"#)
            _ = poll(nil, 0, 200)  // so that none has to wait for its pace
            return !report.output.isEmpty
        }
        #expect(try report.end() == 0)
        let data = try ReportTests.data(of: String(contentsOfFile: page, encoding: .utf8))
        guard case .array(let outcomes)? = data["columns"]?["outcome"] else { Issue.record("no outcomes"); return }
        #expect(!outcomes.isEmpty && outcomes.count <= number)
        #expect(try run.agent.stop() == 0)
    }

    @Test("Ctrl-C writes the page, also before the first message", arguments: [SIGINT, SIGTERM])
    func interrupted(signal: Int32) throws {
        let run = try WatchedRun(folder.path, state)
        let report = try report()
        try report.wait { $0.log.contains("watching") }
        #expect(try report.stop(signal) == 0)
        #expect(report.output.hasPrefix(page))
        #expect(try String(contentsOfFile: page, encoding: .utf8).contains("There was no message."))
        #expect(try run.agent.stop() == 0)
    }

    @Test("the agent's end writes the page")
    func ended() throws {
        let run = try WatchedRun(folder.path, state)
        let report = try report()
        try report.wait { $0.log.contains("watching") }
        // It may be stopped before the report has reached it: then there is nobody to watch, or nobody who answers.
        #expect(try run.agent.stop() == 0)
        let code = try report.end()
        #expect([0, 2].contains(code) || code == 1 && report.log.contains("does not answer"), "\(report.log)")
    }
}
