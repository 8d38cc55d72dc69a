import KiiPush
import KiiPushAgent
import KiiPushSystem

struct ManualCommand: CommandWithOptions {
    private var page: String?
    private var directory: String?

    static let table = OptionTable<ManualCommand>([
        .value("--page", "NAME", "prints the page of this command, such as receive or rules") { $0.page = $1 }
    ])

    private static var names: [String] { ["kiipush"] + Tool.command.commands.map(\.name) }

    mutating func check(_ operands: [String]) throws(Arguments.Mistake) {
        guard operands.count <= 1 else { throw Arguments.Mistake(text: "it takes one directory") }
        directory = operands.first
        if let directory, Self.names.contains(directory) {
            throw Arguments.Mistake(text: "--page \(directory) prints that page; ./\(directory) is a directory")
        }
        guard let page else { return }
        if directory != nil { throw Arguments.Mistake(text: "--page prints, and needs no directory") }
        guard Self.names.contains(page) else {
            throw Arguments.Mistake(text: Suggestion.unknown("page", page, known: Self.names))
        }
    }

    func run(_ console: Console) -> ExitCode {
        let pages = ManualPage.all(of: Tool.command)
        if let directory { return Self.write(pages, to: directory, console) }
        console.print(pages[Self.names.firstIndex(of: page ?? "kiipush") ?? 0].text)
        return .fine
    }

    private static func write(_ pages: [ManualPage], to directory: String, _ console: Console) -> ExitCode {
        do throws(ErrorNumber) { try StateDirectory.make(directory, mode: 0o755) } catch {
            return console.fail("kiipush manual: \(escaped(directory)): cannot be made: \(error)")
        }
        for page in pages {
            let path = "\(directory)/\(page.file)"
            do throws(ErrorNumber) {
                try replaceFile(path, with: page.text + "\n", mode: 0o644, isDurable: false, waits: true)
            } catch {
                return console.fail("kiipush manual: \(escaped(path)): cannot be written: \(error)")
            }
        }
        console.print("\(counted(pages.count, "page")) in \(escaped(directory))")
        return .fine
    }

    static let description = Command(
        name: "manual", summary: "prints a manual page, or writes all of them", usage: ["[--page NAME]", "DIR"],
        about: [
            "With DIR, the pages are written there as kiipush.1, kiipush-receive.1 and so on; DIR is created if it "
                + "does not exist."
        ],
        operands: .directory,
        exits: [(.fine, "printed or written"), (.failed, "a page cannot be written")],
        examples: [
            "kiipush manual --page receive | man -l -",
            "kiipush manual ~/.local/share/man/man1 && man kiipush-receive",
        ])
}
