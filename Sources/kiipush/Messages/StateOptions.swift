import KiiPush
import KiiPushLinux

/// What `kiipush dead-letters` or `kiipush held` was asked for: which messages, and what to do with them.
struct StateOptions {
    /// What is done with the chosen messages.
    enum Action: String {
        case list
        case show
        case replay
        case release
        case drop
    }

    private(set) var action: Action
    /// Whether reasons and transports can be asked for.
    private let isOfLetters: Bool
    /// Numbers of messages; empty means all that the other filters leave.
    private(set) var ids: Set<UInt64> = []
    private(set) var reason: DeadLetter.Reason?
    private(set) var route: String?
    private(set) var transport: String?
    private(set) var format = ReportFormat.text
    private(set) var isAll = false
    /// Whether to say what would be done, and do nothing.
    private(set) var isDryRun = false
    /// How many are replayed a second; nil as fast as they go.
    private(set) var rate: Int?
    private(set) var directory = ""

    init(_ action: Action, isOfLetters: Bool) { (self.action, self.isOfLetters) = (action, isOfLetters) }

    static func table(_ action: Action, isOfLetters: Bool) -> OptionTable<StateOptions> {
        var options: [CommandOption<StateOptions>] = []
        if isOfLetters {
            options += [
                .choice(
                    "--reason", "REASON",
                    "only those with this reason: "
                        + DeadLetter.Reason.allCases.map(\.rawValue).joined(separator: ", "),
                    of: DeadLetter.Reason.allCases.map { ($0.rawValue, $0) }
                ) { $0.reason = $1 },
                .value("--route", "ID", "those that this route did not handle") { $0.route = $1 },
                .value("--transport", "NAME", "those that this transport brought") { $0.transport = $1 },
            ]
        } else {
            options.append(.value("--route", "ID", "those that are held for this route") { $0.route = $1 })
        }
        if action.changes {
            options += [
                .flag("--all", "all of them") { $0.isAll = true },
                .flag("--dry-run", "says what would be done, and does nothing") { $0.isDryRun = true },
            ]
        }
        if action == .replay {
            options.append(
                .value("--rate", "N", "replays so many a second", as: Arguments.number(1...10_000)) { $0.rate = $1 })
        }
        options.append(.format("text for people (the default), or json: one object a line") { $0.format = $1 })
        options.append(.state { $0.directory = $1 })
        return OptionTable(options)
    }

    /// Takes the numbers, and looks at what belongs together.
    mutating func finish(_ operands: [String]) throws(Arguments.Mistake) {
        ids = try Self.ids(operands)
        if action == .show, ids.isEmpty {
            throw Arguments.Mistake(text: "say which by their numbers, as 'list' shows them")
        }
        if action.changes, !isNarrowed, !isAll {
            throw Arguments.Mistake(text: "say which: numbers, --route, \(isOfLetters ? "--reason, " : "")or --all")
        }
        directory = try StateOption.directory(directory)
    }

    /// Whether only some are asked for.
    var isNarrowed: Bool { !ids.isEmpty || reason != nil || route != nil || transport != nil }

    private static func ids(_ operands: [String]) throws(Arguments.Mistake) -> Set<UInt64> {
        var ids: Set<UInt64> = []
        for operand in operands {
            guard let id = UInt64(operand), id > 0 else {
                throw Arguments.Mistake(text: "'\(escaped(operand))' is no number of a message; 'list' shows them")
            }
            ids.insert(id)
        }
        return ids
    }
}

extension StateOptions.Action {
    /// Whether it does something to messages.
    var changes: Bool {
        switch self {
        case .list, .show: false
        case .replay, .release, .drop: true
        }
    }

    /// What has become of messages that it was done to.
    var done: String {
        switch self {
        case .list: "listed"
        case .show: "shown"
        case .replay: "replayed"
        case .release: "released"
        case .drop: "dropped"
        }
    }
}
