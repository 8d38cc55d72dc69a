import Testing

@testable import kiipush
@testable import KiiPushAgent

@Suite("one table of options for parser, help, completions and manual")
struct OptionTablesTests {
    static let commands = Tool.command.all.filter { $0.action != nil }

    @Test("each option of a table is taken by the parser, and no other", arguments: commands.map(\.name))
    func parser(name: String) async throws {
        let command = try #require(Self.commands.first { $0.name == name })
        let words = name.split(separator: " ").map { String($0) }
        let unknown = "--no-such-option-at-all"
        for option in command.allOptions where option.name != "--help" {
            let value = option.word == nil ? [] : [Self.sample(option)]
            let run = await ToolRun(words + [option.name] + value + [unknown])
            // It comes as far as the option behind, so that the one before was taken, with its value.
            let expected = "kiipush \(name): unknown option \(unknown); try 'kiipush \(name) --help'"
            #expect(run.errors == [expected] && run.code == .usage, "\(option.name) of \(name): \(run.errors)")
        }
        for short in ["--help", "-h"] {
            let run = await ToolRun(words + [short])
            #expect(run.code == .fine && run.output == [command.help])
        }
    }

    @Test(
        "each option stands in the help with its value's word, and no other does",
        arguments: Tool.command.all.map(\.name))
    func help(name: String) throws {
        let command = try #require(Tool.command.all.first { $0.name == name })
        let rows = command.help.split(separator: "\n").filter { $0.hasPrefix("  --") }
        let shown = rows.compactMap { $0.split(separator: "  ").first.map { String($0).trimmingSpaces } }
        #expect(shown.sorted() == command.allOptions.map(\.shown).sorted())
        for line in command.help.split(separator: "\n") { #expect(line.count <= 80, "\(line)") }
    }

    @Test("each option stands in the manual, and no other does", arguments: Tool.command.all.map(\.name))
    func manual(name: String) throws {
        let command = try #require(Tool.command.all.first { $0.name == name })
        let first = name.split(separator: " ").first.map { String($0) }
        let page = try #require(
            ManualPage.all(of: Tool.command).first { $0.name == (first.map { "kiipush-\($0)" } ?? "kiipush") })
        var lines = page.text.split(separator: "\n", omittingEmptySubsequences: false)[...]
        if name.contains(" ") {
            lines = lines.drop { $0 != ".SS \(Roff.escaped(command.call))" }.dropFirst()
            lines = lines.prefix { !$0.hasPrefix(".SS ") && !$0.hasPrefix(".SH ") }
        } else {
            lines = lines.drop { $0 != ".SH OPTIONS" }.dropFirst().prefix { !$0.hasPrefix(".SH ") }
        }
        let items = lines.filter { $0.hasPrefix("\\fB\\-\\-") }
        // The name's letters stand between two changes of the font, with a backslash before each hyphen.
        let names = items.map { item in
            item.split(separator: "\\").dropFirst().prefix { !$0.hasPrefix("fR") }.joined()
        }
        #expect(names == command.allOptions.map(\.name))
        for (item, option) in zip(items, command.allOptions) {
            #expect(option.word.map { item.contains("\\fI\(Roff.escaped($0))\\fR") } ?? !item.contains("\\fI"))
        }
    }

    @Test("every help says what the exit codes mean, by the same three numbers and 64")
    func exits() {
        for command in Tool.command.all {
            let codes = command.exitMeanings.map(\.code.rawValue)
            #expect(codes == codes.sorted() && codes.first == 0 && codes.last == 64, "\(command.name): \(codes)")
            #expect(Set(codes).isSubset(of: [0, 1, 2, 64]))
            let words = command.help.split { $0 == "\n" || $0 == " " }.joined(separator: " ")
            #expect(words.contains("Exit codes: 0 ") && words.contains("; 64 wrong usage."), "\(command.name)")
        }
    }

    @Test("which state directory counts without --state is said in the same words everywhere")
    func stateDirectory() {
        let words = StateOption.standardDirectory
        for command in Tool.command.all {
            for option in command.allOptions where option.name == "--state" {
                #expect(option.help.contains(words), "\(command.name)")
            }
        }
    }

    /// A value that the option takes.
    static func sample(_ option: OptionText) -> String {
        if case .words(let words) = option.completion, let first = words.first { return first }
        let samples = [
            "--now": "0", "--param": "a=1", "--for": "1h", "--drain": "1s", "--silent-after": "1m", "--interval": "1s",
        ]
        return samples[option.name] ?? "1"
    }
}

extension String {
    fileprivate var trimmingSpaces: String { String(drop { $0 == " " }) }
}
