import Glibc

/// Which faults are made, in which order.
struct Plan {
    /// Each fault's name, and what makes it; nil where it cannot be made here.
    var rows: [(name: String, make: () async throws -> Row?)]

    init(rows: [(name: String, make: () async throws -> Row?)]) { self.rows = rows }

    init(isLong: Bool, tool: Program?, only: String?) throws {
        let broker = try Broker()
        rows = Deaths.Point.allCases.filter { !$0.isOfAnswers }.map { point in
            (point.rawValue, { try PlantedKills(point: point, isLong: isLong).row(broker) })
        }
        rows.append(("deadly message", { try PlantedKills.deadlyMessage(broker) }))
        let random = isLong ? RandomKills(kills: 1000, messages: 100_000) : RandomKills()
        rows.append(("random kills", { try random.row() }))
        let embedded = RandomKills(kills: isLong ? 200 : 20, messages: isLong ? 20_000 : 2000, program: .embedded)
        rows.append(("random kills of an embedded agent", { try embedded.row() }))
        rows.append(("commands and topics", { try await AnsweredCommands(isLong: isLong).row() }))
        let links = LinkFaults(isLong: isLong)
        rows += [
            ("broker restarts", { try links.restarts() }), ("broker kills", { try links.kills() }),
            ("broker forgets", { try links.forgets() }),
            ("link cuts", { try links.cuts() }), ("broker silent", { try links.silence() }),
        ]
        for program in [.own] + (tool.map { [$0] } ?? []) {
            if case .tool = program {
                let kills = RandomKills(kills: isLong ? 200 : 20, messages: isLong ? 20_000 : 2000, program: program)
                rows.append(("random kills of the tool", { try kills.row() }))
                let hardships = Hardships(
                    program: program, kills: isLong ? 1000 : 24, messages: isLong ? 100_000 : 2400)
                rows.append(("hardships", { try hardships.row() }))
                for kind in InjectedErrors.kinds {
                    let errors = InjectedErrors(program: program, isLong: isLong)
                    rows.append(("injected \(kind.calls)", { try errors.row(kind) }))
                }
                rows.append(("clock jumps", { try ClockJumps(program: program, isLong: isLong).row() }))
                for source in QuickStarts.Source.allCases {
                    let starts = QuickStarts(program: program, source: source, starts: isLong ? 100 : 12)
                    rows.append(("start after kill, \(source.rawValue)", { try starts.row() }))
                }
            }
            rows += [
                ("really full disk", { try FullDisk(program: program, isLong: isLong).row() }),
                ("really full small disk", { try FullDisk(program: program, isLong: isLong, megabytes: 3).row() }),
                ("early stop", { try EarlyStops(program: program, isLong: isLong).row() }),
            ]
        }
        if let only { rows.removeAll { !$0.name.contains(only) } }
        guard !rows.isEmpty else { throw Trouble("no fault has such a name") }
    }

    /// Makes all faults, prints the table, and says what did not hold.
    func run() async throws -> [String] {
        var results: [Row] = []
        var left: [String] = []
        for (name, make) in rows {
            do {
                guard let row = try await make() else {
                    left.append(name)
                    continue
                }
                results.append(row)
            } catch {
                var row = Row(fault: name)
                row.broken = ["\(error)"]
                results.append(row)
            }
        }
        print(table(results))
        for name in left { print("not tried here, since it takes root or the right to trace: \(name)") }
        return results.flatMap { row in row.broken.map { "\(row.fault): \($0)" } }
    }
}
