import Foundation
import KiiPushRules
import KiiPushTesting
import Testing

/// The files of the project, as the tests of its documentation read them.
enum Project {
    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }
}

extension StringProtocol {
    /// What stands between two backticks.
    var code: [String] {
        split(separator: "`", omittingEmptySubsequences: false).enumerated().filter { $0.offset % 2 == 1 }
            .map { String($0.element) }
    }
}

/// Holds the code in the README, in the guides and in doc comments to code that is compiled.
@Suite("Code in the documentation")
struct QuotedCodeTests {
    private struct Block {
        let file: String
        let lines: [String]
    }

    @Test("every Swift block of the documentation is in a sample or a test")
    func blocksAreCompiled() throws {
        let blocks = try Self.files(in: ["README.md", "Sources"], [".md", ".swift"]).flatMap {
            Self.blocks($0.file, $0.text, language: "swift")
        }
        #expect(blocks.count >= 8, "the blocks were not found")
        let compiled = try Self.files(in: ["Samples", "Tests"], [".swift"]).map { Self.trimmedLines($0.text) }
        for block in blocks {
            let isCompiled = compiled.contains { Self.contains($0, block.lines) }
            #expect(isCompiled, "\(block.file): no sample or test has this code: \(block.lines.first ?? "")")
        }
    }

    @Test("every rules file of the documentation can be read, and passes its own tests")
    func rulesAreTested() async throws {
        let files = try Self.files(in: ["README.md", "Sources"], [".md"])
        let blocks = files.flatMap { Self.blocks($0.file, $0.text, language: "json") }
        let rules = blocks.filter { $0.lines.first?.hasPrefix(#"{"version""#) == true }
        #expect(!rules.isEmpty, "the blocks were not found")
        for block in rules {
            let suite = try RuleSuite(RoutingRules(block.lines.joined(separator: "\n"), file: block.file))
            for test in suite { try await test.run() }
        }
    }

    @Test(
        "each program of the documentation that cannot make its agent says why in one line, and not in a crash report")
    func agentsAreMadeOrExit() throws {
        let files = try Self.files(in: ["README.md", "Sources", "Samples"], [".md", "main.swift"])
        let lines = files.flatMap { $0.text.split(separator: "\n") }
        #expect(lines.count { $0.hasPrefix("let agent = PushAgent.orExit {") } >= 4)
        #expect(!lines.contains { $0.hasPrefix("let agent = try") })
    }

    @Test("the README's fifteen lines are the sample of an agent, from its first line to its last")
    func readmeIsTheAgent() throws {
        let sample = try Project.text("Samples/06-MQTTAgent/main.swift")
        #expect(try Project.text("README.md").contains("```swift\n\(sample)```"))
    }

    private static func files(in places: [String], _ endings: [String]) throws -> [(file: String, text: String)] {
        var found: [(String, String)] = []
        for place in places {
            let url = Project.root.appending(path: place)
            let names = FileManager.default.enumerator(atPath: url.path)?.compactMap { $0 as? String } ?? []
            // A file has nothing in it.
            for name in names.isEmpty ? [""] : names
            where !name.contains(".build") && (name.isEmpty || endings.contains { name.hasSuffix($0) }) {
                let file = name.isEmpty ? url : url.appending(path: name)
                found.append((name.isEmpty ? place : "\(place)/\(name)", try String(contentsOf: file, encoding: .utf8)))
            }
        }
        return found
    }

    /// The blocks of a file in one language; in a source file, those of its doc comments.
    private static func blocks(_ file: String, _ text: String, language: String) -> [Block] {
        var blocks: [Block] = []
        var block: [String]?
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            var line = line.trimmingCharacters(in: .whitespaces)
            if file.hasSuffix(".swift") {
                guard line.hasPrefix("///") else { continue }
                line = line.dropFirst(3).trimmingCharacters(in: .whitespaces)
            }
            if let lines = block, line == "```" {
                blocks.append(Block(file: file, lines: lines.filter { !$0.isEmpty }))
                block = nil
            } else if block != nil {
                block?.append(line)
            } else if line == "```\(language)" {
                block = []
            }
        }
        return blocks
    }

    private static func trimmedLines(_ text: String) -> [String] {
        text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
    }

    private static func contains(_ text: [String], _ block: [String]) -> Bool {
        guard !block.isEmpty, text.count >= block.count else { return false }
        return (0...(text.count - block.count)).contains { start in
            text[start..<(start + block.count)].elementsEqual(block)
        }
    }
}
