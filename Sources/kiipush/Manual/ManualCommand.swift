import KiiPush
import KiiPushAgent
import KiiPushSystem

struct ManualCommand {
    private var page: String?
    private var directory: String?

    static let table = OptionTable<ManualCommand>([
        .value("--page", "NAME", "prints the page of this command, such as receive or rules") { $0.page = $1 }
    ])

    static func run(_ arguments: [String], of tool: Command, _ console: Console) -> ExitCode {
        let names = ["kiipush"] + tool.commands.map(\.name)
        let reading = description.read(arguments, by: table, into: ManualCommand(), console) {
            options, operands throws(Arguments.Mistake) in
            guard operands.count <= 1 else { throw Arguments.Mistake(text: "it takes one directory") }
            options.directory = operands.first
            if let name = operands.first, names.contains(name) {
                throw Arguments.Mistake(text: "--page \(name) prints that page; ./\(name) is a directory")
            }
            if let page = options.page {
                if options.directory != nil { throw Arguments.Mistake(text: "--page prints, and needs no directory") }
                guard names.contains(page) else {
                    throw Arguments.Mistake(text: Suggestion.unknown("page", page, known: names))
                }
            }
        }
        guard case .options(let options) = reading else { return reading.code }
        let pages = ManualPage.all(of: tool)
        guard let directory = options.directory else {
            let index = names.firstIndex(of: options.page ?? "kiipush") ?? 0
            console.print(pages[index].text)
            return .fine
        }
        return write(pages, to: directory, console)
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

    static func command(of tool: @escaping @Sendable () -> Command) -> Command {
        var command = description
        command.action = { arguments, console in run(arguments, of: tool(), console) }
        return command
    }

    private static let description = Command(
        name: "manual", summary: "prints a manual page, or writes all of them", usage: ["[--page NAME]", "DIR"],
        about: [
            "With DIR, the pages are written there as kiipush.1, kiipush-receive.1 and so on; DIR is created if it "
                + "does not exist."
        ],
        options: table.texts, operands: .directory,
        exits: [(.fine, "printed or written"), (.failed, "a page cannot be written")],
        examples: [
            "kiipush manual --page receive | man -l -",
            "kiipush manual ~/.local/share/man/man1 && man kiipush-receive",
        ])
}
