import Foundation
import Testing

/// The guide to the architecture, against the folders and files that there are.
@Suite("The guide's architecture")
struct ArchitectureTests {
    private let sources = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appending(path: "Sources")

    /// What stands between two backticks in a part of the guide.
    private func names(after start: String, before end: String) throws -> [String] {
        let guide = try String(
            contentsOf: sources.appending(path: "KiiPush/KiiPush.docc/Architecture.md"), encoding: .utf8)
        let from = try #require(guide.range(of: start)?.upperBound)
        let to = try #require(guide.range(of: end, range: from..<guide.endIndex)?.lowerBound)
        return guide[from..<to].split(separator: "`", omittingEmptySubsequences: false).enumerated()
            .filter { $0.offset % 2 == 1 }.map { String($0.element) }
    }

    @Test(
        "each file that the guide names is there",
        arguments: [
            ("## The way of a message", "## In a service", "KiiPush"),
            ("## In a service", "## Rules of the code", "KiiPushDelivery"),
        ])
    func files(start: String, end: String, library: String) throws {
        let files = try names(after: start, before: end).filter { $0.hasSuffix(".swift") }
        #expect(files.count >= 4)
        for file in files {
            let path = sources.appending(path: "\(library)/\(file)").path
            #expect(FileManager.default.fileExists(atPath: path), "\(file)")
        }
    }

    @Test("the table of folders has each folder of the core, and no other")
    func folders() throws {
        let named = try names(after: "| folder |", before: "## The way of a message")
        let core = sources.appending(path: "KiiPush")
        let there = try FileManager.default.contentsOfDirectory(atPath: core.path).filter { !$0.contains(".") }
        #expect(Set(named).symmetricDifference(there) == [])
        #expect(named.count == there.count)
    }

    @Test("the table of libraries has each library and the tool, and no other")
    func libraries() throws {
        let named = try names(after: "| library |", before: "The folders of")
        let there = try FileManager.default.contentsOfDirectory(atPath: sources.path)
            .filter { $0.hasPrefix("Kii") || $0 == "kiipush" }
        #expect(Set(named) == Set(there))
    }

    @Test("no task of the service starts but on the executor that was handed in")
    func tasks() throws {
        let folder = sources.appending(path: "KiiPushDelivery")
        var starts: [String] = []
        for file in try FileManager.default.contentsOfDirectory(atPath: folder.path) where file.hasSuffix(".swift") {
            let text = try String(contentsOf: folder.appending(path: file), encoding: .utf8)
            let lines = text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
            for line in lines where line.contains(/(^|[^.\w])Task(\.detached)?(<.*>)?\s*[({]/) {
                if line.hasPrefix("//") || line.contains("-> Task<") { continue }
                starts.append("\(file): \(line)")
            }
        }
        #expect(starts == ["PushService.swift: Task(executorPreference: executor, operation: body)"])
    }
}
