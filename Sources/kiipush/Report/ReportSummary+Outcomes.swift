extension ReportSummary {
    /// The findings for all outcomes except `handled` and `paced`.
    static func outcomes(_ report: Report) -> [Finding] {
        let all = report.countsByOutcome
        let total = report.messages.count
        return all.flatMap { name, count -> [Finding] in
            let reasons = report.reasons(of: name)
            switch name {
            case "looped": return reasons.map { looped($0.name, $0.count, report) }
            case "deadLettered": return reasons.map { deadLettered($0.name, $0.count, report) }
            case "refused": return reasons.map { refused($0.name, $0.count) }
            case "unrouted": return reasons.map { unrouted($0.name, $0.count, hasRules: report.rules != nil) }
            case "undecodable": return [undecodable(reasons, count)]
            case "duplicate": return [duplicate(count, of: total)]
            default: return simple(name, reasons.first?.name, count, report)
            }
        }
    }

    private static func looped(_ layer: String, _ count: Int, _ report: Report) -> Finding {
        let (tone, what, advice): (Finding.Tone, String, String) =
            switch layer {
            case "identity":
                (.note, "came from this device itself, and were dropped.", "This is expected: no loop began.")
            case "echo":
                (.note, "were the events of announced writes, and were dropped.", "This is expected.")
            case "lineage":
                (
                    .bad, "had passed too many handlers: a loop across devices, cut.",
                    "Find the handlers that send or write in turn; the limit is \"hops\" under \"loop\"."
                )
            case "killSwitch":
                (
                    .warning, "were dropped, since somebody switched their route or bucket off.",
                    "'kiipush revive TARGET' switches it on again. See what is off:"
                )
            case "ownBucket":
                (
                    .warning, "ended since their handler was about to write to the bucket that called it.",
                    "Let the handler write elsewhere, or set \"ownBucket\" to \"allow\" if it cannot loop."
                )
            default: (.warning, "were dropped as a loop.", "See the reason of each.")
            }
        return Finding(
            tone: tone, what: "\(counted(count)) \(count == 1 ? singular(what) : what)", advice: advice,
            command: layer == "killSwitch" ? command(report, "kill --list") : nil, shows: "looped")
    }

    private static func deadLettered(_ reason: String, _ count: Int, _ report: Report) -> Finding {
        Finding(
            tone: .bad, what: "\(counted(count)) dead-lettered (\(reason)).",
            advice: "They are kept. Inspect them, fix the cause, and replay them:",
            command: command(report, "dead-letters list"), shows: "deadLettered")
    }

    private static func refused(_ reason: String, _ count: Int) -> Finding {
        let advice =
            switch reason {
            case "app": "They name another app. Check \"app\" in the rules, and the device's subscriptions."
            case "scope": "Their scope is not served. Check \"serving\" in the rules."
            default: "A middleware of your own refused them."
            }
        return Finding(
            tone: .warning, what: "\(counted(count)) refused (\(reason)).", advice: advice, shows: "refused")
    }

    private static func unrouted(_ reason: String, _ count: Int, hasRules: Bool) -> Finding {
        guard reason == "noRoute" else {
            return Finding(
                tone: .warning, what: "\(counted(count)) unrouted, since they contradict themselves.",
                advice:
                    "Somebody may imitate another kind of push. Click one to see the conflicts; a rule takes such a "
                    + "message only if its \"certainty\" says so.", shows: "unrouted")
        }
        return Finding(
            tone: .warning, what: "\(counted(count)) unrouted: no rule takes \(count == 1 ? "it" : "them").",
            advice: hasRules
                ? "Click one to see which condition each rule misses." : "Give the report your rules with --rules.",
            shows: "unrouted")
    }

    private static func undecodable(_ reasons: [(name: String, count: Int)], _ count: Int) -> Finding {
        let codes = reasons.prefix(4).map { "\($0.name) \($0.count)" }.joined(separator: ", ")
        return Finding(
            tone: .warning,
            what: "\(counted(count)) undecodable: no push \(count == 1 ? "message" : "messages") "
                + "(\(codes)).", advice: "Check their sender; 'kiipush inspect' shows the position of the error.",
            shows: "undecodable")
    }

    private static func duplicate(_ count: Int, of total: Int) -> Finding {
        Finding(
            tone: .note, what: "\(counted(count)) repeated, and not handled again.",
            advice: count * 2 > total
                ? "That is more than half: check whether the device is subscribed or installed twice."
                : "Networks deliver twice; there is nothing to do.",
            shows: "duplicate")
    }

    private static func simple(_ name: String, _ reason: String?, _ count: Int, _ report: Report) -> [Finding] {
        switch name {
        case "failed":
            [
                Finding(
                    tone: .bad, what: "\(counted(count)) failed, first at \(reason ?? "a handler").",
                    advice: "The log has the error. A service retries; see how often:",
                    command: command(report, "status"), shows: name)
            ]
        case "quarantined":
            [
                Finding(
                    tone: .bad, what: "\(counted(count)) quarantined: the process ended while they were handled.",
                    advice: "The handler crashes on them. They are kept as dead letters:",
                    command: command(report, "dead-letters list --reason quarantined"), shows: name)
            ]
        case "expired":
            [
                Finding(
                    tone: .warning, what: "\(counted(count)) older than \"maxAge\" and not handled.",
                    advice: "Check the device's clock, and for how long it was offline.", shows: name)
            ]
        case "superseded":
            [
                Finding(
                    tone: .note, what: "\(counted(count)) replaced by a newer change of the same object.",
                    advice: "That is what \"replacesOlder\" asks for, and the loop guard if changes wait.", shows: name)
            ]
        default: []
        }
    }

    private static func singular(_ text: String) -> String {
        text.hasPrefix("were ") ? "was " + text.dropFirst(5) : text
    }
}
