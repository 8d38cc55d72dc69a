import KiiPush

package struct TapOptions: Sendable {
    var route: String?
    var outcome: String?
    var kind: PushKind?
    var bucket: String?
    package var format = ReportFormat.text
    var count: Int?
    package var directory = ""

    package init() {}

    package static let table = OptionTable<TapOptions>([
        .value("--route", "ID", "shows only messages of this route") { $0.route = $1 },
        .choice(
            "--outcome", "NAME", "shows only this outcome: \(OutcomeCounters.outcomes.joined(separator: ", "))",
            of: OutcomeCounters.outcomes.map { ($0, $0) }
        ) { $0.outcome = $1 },
        .choice(
            "--kind", "KIND", "shows only this kind: pushToApp, pushToUser or directPush",
            of: PushKind.allCases.map { ($0.rawValue, $0) }
        ) { $0.kind = $1 },
        .value("--bucket", "NAME", "shows only messages of this bucket") { $0.bucket = $1 },
        .value("--count", "N", "exits after N messages", as: Arguments.number(1 ... .max)) { $0.count = $1 },
        .format(
            "text (the default): time, outcome, route, subject, waiting and handling time, and why it was dropped; "
                + "json: the output of 'kiipush inspect' plus time, message, outcome, reason, why, deadLetter, "
                + "route, routes, waited and took (milliseconds)"
        ) { $0.format = $1 },
        .state { $0.directory = $1 },
    ])

    /// Parses the arguments; nil if help is requested.
    static func read(_ arguments: [String]) throws(Arguments.Mistake) -> TapOptions? {
        var options = TapOptions()
        guard let operands = try table.read(arguments, into: &options) else { return nil }
        try check(operands)
        return options
    }

    package static func check(_ operands: [String]) throws(Arguments.Mistake) {
        try Arguments.none(operands, hint: "pass a route with --route")
    }

    func takes(_ trace: Trace) -> Bool {
        if let outcome, trace.outcome.name != outcome { return false }
        if let route, !trace.routes.containsExactly(route) { return false }
        if let kind, trace.message?.kind != kind { return false }
        if let bucket {
            guard let name = trace.message?.bucket?.name, name.isExactly(bucket) else { return false }
        }
        return true
    }
}
