/// Compares what every program understands with what KiiPush does; a difference ends the run.
struct Check {
    struct Differs: Error, CustomStringConvertible {
        let description: String
    }

    private let workbench: Workbench
    private let ours: Program

    init(_ workbench: Workbench) throws {
        self.workbench = workbench
        guard let ours = workbench.program(Program.ours) else { throw Differs(description: "KiiPush is not there") }
        self.ours = ours
    }

    func run(_ cells: [Cell]) throws {
        let files = workbench.files
        for program in workbench.programs where program.id != Program.ours {
            if program.role == .receiver { try compare(program, files.cases, routes: 100) }
        }
        for cell in cells where cell.program.id != Program.ours {
            try compare(cell.program, files.beginnings[cell.file.path] ?? cell.file, routes: cell.routes)
        }
        try checkOutcomes(files.cases)
    }

    /// Parsers know only these parts of a line: bucket, object and scope.
    private static let parsed = [1, 2, 4]

    private func compare(_ program: Program, _ file: PayloadFile, routes: Int) throws {
        let wanted = try workbench.check(ours, file, routes: routes)
        let found = try workbench.check(program, file, routes: routes)
        guard wanted.count == file.payloads.count, found.count == wanted.count else {
            throw Differs(
                description: "\(file.path) has \(file.payloads.count) payloads; KiiPush answered \(wanted.count) of "
                    + "them, \(program.title) \(found.count)")
        }
        let places = program.role == .parser ? Self.parsed : Array(0..<6)
        for (number, (wanted, found)) in zip(wanted, found).enumerated()
        where found.count != 6 || places.contains(where: { wanted[$0] != found[$0] }) {
            throw Differs(
                description: """
                    \(file.path):\(number + 1), \(routes) routes: \(program.title) differs from KiiPush
                      KiiPush: \(wanted.joined(separator: " | "))
                      \(program.title): \(found.joined(separator: " | "))
                    """)
        }
    }

    /// That the cases bring every outcome, or they would prove little.
    private func checkOutcomes(_ cases: PayloadFile) throws {
        let outcomes = Set(try workbench.check(ours, cases, routes: 100).compactMap { $0.last.map(String.init) })
        let wanted = ["handled", "duplicate", "looped", "paced", "refused", "unrouted", "undecodable"]
        for outcome in wanted where !outcomes.contains(outcome) {
            throw Differs(description: "none of the cases is \(outcome)")
        }
    }
}
