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

    let action: Action
    /// Numbers of messages; empty means all that the other filters leave.
    let ids: Set<UInt64>
    let reason: DeadLetter.Reason?
    let route: String?
    let transport: String?
    let format: ReportFormat
    /// Whether to say what would be done, and do nothing.
    let isDryRun: Bool
    /// How many are replayed a second; nil as fast as they go.
    let rate: Int?
    let directory: String

    /// Reads the arguments behind the action; nil when help is wanted.
    ///
    /// - Parameters:
    ///   - action: what is done.
    ///   - arguments: the rest of the command line.
    ///   - isOfLetters: whether reasons and transports can be asked for.
    /// - Throws: what is wrong with them.
    init?(_ action: Action, _ arguments: [String], isOfLetters: Bool) throws(Arguments.Mistake) {
        var arguments = Arguments(arguments)
        var (reason, route, transport): (DeadLetter.Reason?, String?, String?) = (nil, nil, nil)
        var (format, isAll, isDryRun, rate, directory) = (ReportFormat.text, false, false, Int?.none, String?.none)
        while let option = try arguments.nextOption() {
            switch option {
            case "--route": route = try arguments.value(of: option)
            case "--format": format = try arguments.value(of: option, among: ReportFormat.choices)
            case "--state": directory = try arguments.value(of: option)
            case "--reason" where isOfLetters:
                reason = try arguments.value(of: option, among: DeadLetter.Reason.allCases.map { ($0.rawValue, $0) })
            case "--transport" where isOfLetters: transport = try arguments.value(of: option)
            case "--all" where action.changes: isAll = true
            case "--dry-run" where action.changes: isDryRun = true
            case "--rate" where action == .replay: rate = try Self.rate(arguments.value(of: option))
            case "--help", "-h": return nil
            default: throw Arguments.Mistake(unknown: option, known: Self.options(of: action, isOfLetters))
            }
        }
        ids = try Self.ids(arguments.operands)
        let isNarrowed = !ids.isEmpty || reason != nil || route != nil || transport != nil
        if action == .show, ids.isEmpty {
            throw Arguments.Mistake(text: "say which by their numbers, as 'list' shows them")
        }
        if action.changes, !isNarrowed, !isAll {
            throw Arguments.Mistake(text: "say which: numbers, --route, \(isOfLetters ? "--reason, " : "")or --all")
        }
        guard let directory = directory ?? StateDirectory.standard else {
            throw Arguments.Mistake(text: "no home directory is known; name the state directory with --state DIR")
        }
        (self.action, self.reason, self.route, self.transport) = (action, reason, route, transport)
        (self.format, self.isDryRun, self.rate, self.directory) = (format, isDryRun, rate, directory)
    }

    private static func options(of action: Action, _ isOfLetters: Bool) -> [String] {
        ["--route", "--format", "--state"] + (isOfLetters ? ["--reason", "--transport"] : [])
            + (action.changes ? ["--all", "--dry-run"] : []) + (action == .replay ? ["--rate"] : [])
    }

    private static func rate(_ text: String) throws(Arguments.Mistake) -> Int {
        guard let rate = Int(text), (1...10_000).contains(rate) else {
            throw Arguments.Mistake(text: "--rate takes a number from 1 to 10000, not '\(escaped(text))'")
        }
        return rate
    }

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
}
