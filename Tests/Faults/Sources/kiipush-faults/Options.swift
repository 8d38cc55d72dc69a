import Glibc

/// What the command line asks for.
struct Options {
    private var kills = RandomKills()
    private var only: String?

    static let usage = """
        usage: kiipush-faults [--kills N] [--messages M] [--only NAME] [--tool PATH]
        """

    init(_ arguments: [String]) throws {
        var rest = arguments[...]
        while let option = rest.popFirst() {
            switch option {
            case "--kills": kills.kills = try Self.number(option, &rest)
            case "--messages": kills.messages = try Self.number(option, &rest)
            case "--only": only = rest.popFirst()
            case "--tool": kills.program = .tool(rest.popFirst() ?? "")
            default: throw Trouble("unknown option \(option)\n\(Self.usage)")
            }
        }
    }

    private static func number(_ option: String, _ rest: inout ArraySlice<String>) throws -> Int {
        guard let number = rest.popFirst().flatMap({ Int($0) }), number > 0 else {
            throw Trouble("\(option) takes a number from 1 on")
        }
        return number
    }

    mutating func run() throws {
        let rows = [try kills.row()]
        print(table(rows))
        let broken = rows.flatMap { row in row.broken.map { "\(row.fault): \($0)" } }
        for what in broken { complain(what) }
        if !broken.isEmpty { exit(1) }
    }
}
