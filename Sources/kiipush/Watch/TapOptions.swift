import KiiPush
import KiiPushLinux

/// What `kiipush tap` was asked for: which messages, and how they are printed.
struct TapOptions: Sendable {
    var route: String?
    var outcome: String?
    var kind: PushKind?
    var bucket: String?
    var format = ReportFormat.text
    /// After how many messages it ends; nil for never.
    var count: Int?
    var directory: String?

    /// Reads the arguments; nil when help is wanted.
    static func read(_ arguments: [String]) throws(Arguments.Mistake) -> TapOptions? {
        var arguments = Arguments(arguments)
        var options = TapOptions()
        while let option = try arguments.nextOption() {
            switch option {
            case "--route": options.route = try arguments.value(of: option)
            case "--outcome": options.outcome = try arguments.value(of: option, among: outcomes.map { ($0, $0) })
            case "--kind":
                options.kind = try arguments.value(of: option, among: PushKind.allCases.map { ($0.rawValue, $0) })
            case "--bucket": options.bucket = try arguments.value(of: option)
            case "--format": options.format = try arguments.value(of: option, among: ReportFormat.choices)
            case "--count": options.count = try count(arguments.value(of: option))
            case "--state": options.directory = try arguments.value(of: option)
            case "--help", "-h": return nil
            default: throw Arguments.Mistake(unknown: option, known: known)
            }
        }
        if let operand = arguments.operands.first {
            throw Arguments.Mistake(text: "'\(escaped(operand))' is no option; a route goes behind --route")
        }
        return options
    }

    private static let known = ["--route", "--outcome", "--kind", "--bucket", "--format", "--count", "--state"]

    /// The names of all outcomes, as ``KiiPush/Outcome/name``.
    static let outcomes = [
        "handled", "duplicate", "looped", "held", "deadLettered", "quarantined", "superseded", "expired", "refused",
        "unrouted", "failed", "undecodable",
    ]

    static func count(_ text: String) throws(Arguments.Mistake) -> Int {
        guard let count = Int(text), count > 0 else {
            throw Arguments.Mistake(text: "--count takes a number from 1 on, not '\(escaped(text))'")
        }
        return count
    }

    /// Whether a message is one of those asked for.
    func takes(_ trace: Trace) -> Bool {
        if let outcome, trace.outcome.name != outcome { return false }
        if let route, !trace.routes.contains(where: { $0.utf8.elementsEqual(route.utf8) }) { return false }
        if let kind, trace.message?.kind != kind { return false }
        if let bucket {
            guard let name = trace.message?.bucket?.name, name.utf8.elementsEqual(bucket.utf8) else { return false }
        }
        return true
    }
}
