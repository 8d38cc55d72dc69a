extension ReportSummary {
    /// The findings for all outcomes except `handled` and `paced`.
    static func outcomes(_ report: Report) -> [Finding] {
        report.countsByOutcome.flatMap { outcome, count -> [Finding] in
            let reasons = report.reasons(of: outcome)
            let isByReason = ["looped", "deadLettered", "refused", "unrouted"].contains(outcome)
            let codes = reasons.prefix(4).map { "\($0.name) \($0.count)" }.joined(separator: ", ")
            let whole = outcome == "undecodable" ? codes : reasons.first?.name ?? "a handler"
            return (isByReason ? reasons : [(name: whole, count: count)]).compactMap { reason, count in
                guard let (tone, what, advice, help) = words(outcome, reason, count, report) else { return nil }
                return Finding(
                    tone: tone, what: "\(counted(count)) \(what)", advice: advice,
                    command: help.map { command(report, $0) }, shows: outcome)
            }
        }
    }

    /// What is said of some messages of an outcome and a reason, and the command that helps; nil if nothing is.
    private static func words(
        _ outcome: String, _ reason: String, _ count: Int, _ report: Report
    ) -> (tone: Finding.Tone, what: String, advice: String, command: String?)? {
        let were = count == 1 ? "was" : "were"
        return switch (outcome, reason) {
        case ("looped", "identity"):
            (.note, "came from this device itself, and were dropped.", "This is expected: no loop began.", nil)
        case ("looped", "echo"):
            (.note, "\(were) the events of announced writes, and were dropped.", "This is expected.", nil)
        case ("looped", "lineage"):
            (
                .bad, "had passed too many handlers: a loop across devices, cut.",
                "Find the handlers that send or write in turn; the limit is \"hops\" under \"loop\".", nil
            )
        case ("looped", "killSwitch"):
            (
                .warning, "\(were) dropped, since somebody switched their route or bucket off.",
                "'kiipush revive TARGET' switches it on again. See what is off:", "kill --list"
            )
        case ("looped", "ownBucket"):
            (
                .warning, "ended since their handler was about to write to the bucket that called it.",
                "Let the handler write elsewhere, or set \"ownBucket\" to \"allow\" if it cannot loop.", nil
            )
        case ("looped", _): (.warning, "\(were) dropped as a loop.", "See the reason of each.", nil)
        case ("deadLettered", _):
            (
                .bad, "dead-lettered (\(reason)).",
                "They are kept. Inspect them, fix the cause, and replay them:", "dead-letters list"
            )
        case ("refused", "app"):
            (
                .warning, "refused (app).",
                "They name another app. Check \"app\" in the rules, and the device's subscriptions.", nil
            )
        case ("refused", "scope"):
            (.warning, "refused (scope).", "Their scope is not served. Check \"serving\" in the rules.", nil)
        case ("refused", _): (.warning, "refused (\(reason)).", "A middleware of your own refused them.", nil)
        case ("unrouted", "noRoute"):
            (
                .warning, "unrouted: no rule takes \(count == 1 ? "it" : "them").",
                report.rules != nil
                    ? "Click one to see which condition each rule misses." : "Give the report your rules with --rules.",
                nil
            )
        case ("unrouted", _):
            (
                .warning, "unrouted, since they contradict themselves.",
                "Somebody may imitate another kind of push. Click one to see the conflicts; a rule takes such a "
                    + "message only if its \"certainty\" says so.", nil
            )
        case ("undecodable", _):
            (
                .warning, "undecodable: no push \(count == 1 ? "message" : "messages") (\(reason)).",
                "Check their sender; 'kiipush inspect' shows the position of the error.", nil
            )
        case ("duplicate", _):
            (
                .note, "repeated, and not handled again.",
                count * 2 > report.messages.count
                    ? "That is more than half: check whether the device is subscribed or installed twice."
                    : "Networks deliver twice; there is nothing to do.", nil
            )
        case ("failed", _):
            (
                .bad, "failed, first at \(reason).", "The log has the error. A service retries; see how often:",
                "status"
            )
        case ("quarantined", _):
            (
                .bad, "quarantined: the process ended while they were handled.",
                "The handler crashes on them. They are kept as dead letters:", "dead-letters list --reason quarantined"
            )
        case ("expired", _):
            (
                .warning, "older than \"maxAge\" and not handled.",
                "Check the device's clock, and for how long it was offline.", nil
            )
        case ("superseded", _):
            (
                .note, "replaced by a newer change of the same object.",
                "That is what \"replacesOlder\" asks for, and the loop guard if changes wait.", nil
            )
        default: nil
        }
    }
}
