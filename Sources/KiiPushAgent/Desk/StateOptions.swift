import KiiPush
import KiiPushSystem

package struct StateOptions {
    package enum Action: String {
        case list
        case show
        case replay
        case drop

        var changes: Bool { self == .replay || self == .drop }
    }

    private(set) var action: Action
    /// Numbers of dead letters; empty means all that the other filters accept.
    private(set) var ids: Set<UInt64> = []
    private(set) var reason: DeadLetter.Reason?
    private(set) var route: String?
    private(set) var transport: String?
    private(set) var format = ReportFormat.text
    private(set) var isAll = false
    private(set) var isDryRun = false
    /// How many are replayed per second; nil for no limit.
    private(set) var rate: Int?
    package private(set) var directory = ""

    package init(_ action: Action) { self.action = action }

    /// Parses an action and its options, as an agent receives them.
    init(words: [String]) throws(Arguments.Mistake) {
        guard let action = words.first.flatMap({ Action(rawValue: $0) }) else {
            throw Arguments.Mistake(text: "say what to do: list, show, replay or drop")
        }
        self.init(action)
        guard let operands = try Self.table(action).read(Array(words.dropFirst()), into: &self) else {
            throw Arguments.Mistake(text: "an agent shows no help")
        }
        try finish(operands)
    }

    package static func table(_ action: Action) -> OptionTable<StateOptions> {
        var options: [CommandOption<StateOptions>] = [
            .choice(
                "--reason", "REASON",
                "selects by reason: " + DeadLetter.Reason.allCases.map(\.rawValue).joined(separator: ", "),
                of: DeadLetter.Reason.allCases.map { ($0.rawValue, $0) }
            ) { $0.reason = $1 },
            .value("--route", "ID", "selects those that this route did not handle") { $0.route = $1 },
            .value("--transport", "NAME", "selects those received over this transport") { $0.transport = $1 },
        ]
        if action.changes {
            options += [
                .flag("--all", "selects all") { $0.isAll = true },
                .flag("--dry-run", "prints what would be done, and does nothing") { $0.isDryRun = true },
            ]
        } else {
            options.append(.format("text for people (the default), or json: one object a line") { $0.format = $1 })
        }
        if action == .replay {
            options.append(
                .value(
                    "--rate", "N", "replays at most N messages per second", as: Arguments.number(1...10_000)
                ) { $0.rate = $1 })
        }
        options.append(.state { $0.directory = $1 })
        return OptionTable(options)
    }

    package mutating func finish(_ operands: [String]) throws(Arguments.Mistake) {
        ids = try Self.ids(operands)
        if action == .show, !isNarrowed {
            throw Arguments.Mistake(text: "say which: numbers, --route, --reason, or --transport")
        }
        if action.changes, !isNarrowed, !isAll {
            throw Arguments.Mistake(text: "say which: numbers, --route, --reason, --transport, or --all")
        }
        directory = try StateOption.directory(directory)
    }

    var isNarrowed: Bool { !ids.isEmpty || reason != nil || route != nil || transport != nil }

    private static func ids(_ operands: [String]) throws(Arguments.Mistake) -> Set<UInt64> {
        var ids: Set<UInt64> = []
        for operand in operands {
            guard let id = UInt64(operand), id > 0 else {
                throw Arguments.Mistake(
                    text: "'\(escaped(operand))' is not the number of a dead letter; 'list' shows them")
            }
            ids.insert(id)
        }
        return ids
    }
}
