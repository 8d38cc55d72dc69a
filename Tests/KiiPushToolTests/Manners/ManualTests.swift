import Foundation
import Testing

@testable import KiiPushAgent
@testable import kiipush

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

    @Test("what a page shows is what the help says, word by word", arguments: ["receive", "kill"])
    func words(name: String) throws {
        guard Shell("man") != nil else { return }
        let page = try #require(Self.pages.first { $0.name == "kiipush-\(name)" })
        let command = try #require(Tool.command.commands.first { $0.name == name })
        let file = try TemporaryFile(page.text + "\n", name: page.file)
        let shell = try #require(Shell("bash"))
        let line = "LC_ALL=C.UTF-8 MANWIDTH=200 man --nj --nh -E ascii -l \"$1\""
        let shown = try shell.run(["-c", line, "bash", file.path]).split { $0 == " " || $0 == "\n" }.joined(
            separator: " ")
        for option in command.allOptions {
            let help = option.help.split(separator: " ").joined(separator: " ")
            #expect(shown.contains("\(option.name) ") || shown.contains("\(option.name),"), "\(option.name)")
            #expect(shown.contains(help.prefix(60)), "\(help)")
        }
    }

    @Test("a text means nothing to the formatter")
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
