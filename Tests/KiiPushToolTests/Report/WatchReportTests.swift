import Foundation
import Glibc
import KiiPush
import KiiPushAgent
import Testing

@testable import kiipush

@Suite("kiipush report --watch, and the agent that it watches", .timeLimit(.minutes(5)))
struct WatchReportTests {
    private let folder: TemporaryFile
    private let state: String
    private let page: String

    init() throws {
        folder = try TemporaryFile(ReceiveTests.rules, name: "rules.json")
        let directory = String(folder.path.dropLast("/rules.json".count))
        state = directory + "/state"
        page = directory + "/report.html"
    }

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

    @Test("no agent: said with exit code 2, and no page")
    func nobody() async throws {
        let run = await ToolRun("report", "--watch", "--state", state, "-o", page)
        #expect(run.code == .nobody)
        #expect(!FileManager.default.fileExists(atPath: page))
    }
}
