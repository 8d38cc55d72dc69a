import Foundation
import KiiPush
import KiiPushTesting
import Testing

@testable import kiipush

@Suite("kiipush report")
struct ReportTests {
    /// What a run wrote.
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
        /// The outcome of each message.
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

    @Test("a loop is found as one, with the command that stops it; the messages around it are not part of it")
    func loop() async throws {
        let written = try await report(await Captures.loop())
        #expect(written.run.code == .fine && written.run.errors.isEmpty)
        let first = try #require(written.objects("findings").first)
        #expect(first["tone"]?.string == "bad" && first["shows"]?.string == "loop")
        #expect(first["what"]?.string?.hasPrefix("Loop on bucket counter / c-1: ") == true, "\(written.findings)")
        #expect(first["command"]?.string == "kiipush kill all --for 10m")
        let lanes = written.texts("lanes")
        let ofLoop = zip(written.column("lane"), written.column("guarding")).filter { $0.1 & 2 != 0 }.map { lanes[Int($0.0)] }
        #expect(Set(ofLoop) == ["bucket counter / c-1"] && ofLoop.count > 20)
    }

    @Test("an honest burst is no loop: it was late, and all of it is handled")
    func burst() async throws {
        let written = try await report(Captures.burst())
        #expect(written.findings.contains { $0.hasPrefix("Burst on bucket sensor / temperature: ") }, "\(written.findings)")
        #expect(!written.findings.contains { $0.hasPrefix("Loop") })
        #expect(written.findings.first == "Nothing went wrong.")
        #expect(Set(written.outcomes) == ["handled", "duplicate"])
        #expect(written.column("held").contains { $0 > 3000 })
    }
}
