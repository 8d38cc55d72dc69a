import Foundation
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
            var ways = [[option.name] + value]
            if let short = option.short { ways += [[short] + value, [short + value.joined()]] }
            for way in ways {
                let run = await ToolRun(words + way + [unknown])
                // It comes as far as the option behind, so that the one before was taken, with its value.
                let expected = "kiipush \(name): unknown option \(unknown); try 'kiipush \(name) --help'"
                #expect(run.errors == [expected] && run.code == .usage, "\(way) of \(name): \(run.errors)")
            }
        }
    }

    @Test(
        "each way to ask shows the help, in which each option stands with its value's word, and no other",
        arguments: Tool.command.all.map(\.name))
    func help(name: String) async throws {
        let command = try #require(Tool.command.all.first { $0.name == name })
        let words = name.split(separator: " ").map { String($0) }
        let asked = [["help"] + words, Array(words.dropLast()) + ["help"] + words.suffix(1)]
        for line in asked + [words + ["--help"], words + ["-h"]] {
            let run = await ToolRun(line)
            #expect(run.code == .fine && run.output == [command.help], "\(line)")
        }
        let rows = command.help.split(separator: "\n").filter { $0.hasPrefix("  --") }
        let shown = rows.compactMap { $0.split(separator: "  ").first.map { String($0).trimmingSpaces } }
        #expect(shown.sorted() == command.allOptions.map(\.shown).sorted())
        for line in command.help.split(separator: "\n") { #expect(line.count <= 80, "\(line)") }
    }

    @Test("each option stands in the manual, with what the help says of it", arguments: Tool.command.all.map(\.name))
    func manual(name: String) throws {
        let command = try #require(Tool.command.all.first { $0.name == name })
        let page = ["kiipush", name.split(separator: " ").first.map { String($0) }].compactMap { $0 }
        let text = try #require(ManualPage.all(of: Tool.command).first { $0.name == page.joined(separator: "-") }).text
        for option in command.allOptions {
            let help = Roff.text(option.help + ".").joined(separator: "\n")
            #expect(text.contains("\n\\fB\(Roff.escaped(option.name))\\fR") && text.contains(help), "\(option.name)")
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

    static func sample(_ option: OptionText) -> String {
        if case .words(let words) = option.completion, let first = words.first { return first }
        let samples = [
            "--now": "0", "--param": "a=1", "--for": "1h", "--drain": "1s", "--silent-after": "1m", "--interval": "1s",
            "--mqtt-birth": "a=1", "--mqtt-will": "a=1",
        ]
        return samples[option.name] ?? "1"
    }
}

extension String {
    fileprivate var trimmingSpaces: String { String(drop { $0 == " " }) }
}

@Suite("the manual's pages")
struct ManualTests {
    static let pages = ManualPage.all(of: Tool.command)

    @Test("there is a page for the tool and one for each command, each seen from another")
    func everyCommand() {
        #expect(Self.pages.map(\.name) == ["kiipush"] + Tool.command.commands.map { "kiipush-\($0.name)" })
        for page in Self.pages.dropFirst() {
            #expect(page.text.contains("\n.SH SEE ALSO\n.BR kiipush (1)"))
            #expect(Self.pages[0].text.contains(".BR \(Roff.escaped(page.name)) (1)"))
        }
    }

    @Test("man formats each page without a warning", arguments: pages.indices)
    func warnings(number: Int) throws {
        let file = try TemporaryFile(Self.pages[number].text + "\n", name: Self.pages[number].file)
        guard let man = Shell("man") else { return }
        // Through a shell, so that the page itself goes nowhere.
        let shell = try #require(Shell("bash"))
        _ = man
        let complaints = try shell.run([
            "-c", "LC_ALL=C.UTF-8 man --warnings=all -E UTF-8 -l \"$1\" > /dev/null", "bash", file.path,
        ])
        #expect(complaints == "")
        guard let mandoc = Shell("mandoc") else { return }
        #expect(try mandoc.run(["-T", "lint", "-W", "warning", file.path]) == "")
    }

    @Test("text is escaped for the formatter")
    func escapes() {
        #expect(Roff.escaped(#"a\b -x 'q' ~ … ü"#) == #"a\eb \-x \(aqq\(aq \(ti ... \[u00FC]"#)
        #expect(Roff.text(".TH") == [#"\&.TH"#])
    }

    @Test("the pages are written into a directory, which is made; one page is printed")
    func command() async throws {
        let folder = try TemporaryFile("", name: "x")
        let directory = folder.path + ".d/man1"
        defer { try? FileManager.default.removeItem(atPath: folder.path + ".d") }
        let run = await ToolRun("manual", directory)
        #expect(run.code == .fine && run.output == ["\(Self.pages.count) pages in \(directory)"])
        let files = try FileManager.default.contentsOfDirectory(atPath: directory)
        #expect(files.sorted() == Self.pages.map(\.file).sorted())
        #expect(await ToolRun("manual").output == [Self.pages[0].text])
        #expect(await ToolRun("manual", "--page", "kill").output.first?.contains(".TH KIIPUSH\\-KILL 1 ") == true)
        let wrong = await ToolRun("manual", "--page", "kil")
        #expect(wrong.code == .usage)
        #expect(
            wrong.errors == [
                "kiipush manual: unknown page 'kil'; did you mean 'kill'? Try 'kiipush manual --help'"
            ])
        let full = await ToolRun("manual", folder.path)
        #expect(
            full.code == .failed && full.errors == ["kiipush manual: \(folder.path): cannot be made: Not a directory"])
    }
}
