import KiiPush
import KiiPushRules
import KiiPushTesting

/// Why a message has its outcome, by rule and by stage.
struct Explanation {
    enum Standing: String {
        case taken
        case missed
        case notTried
    }

    struct Rule {
        let rule: RoutingRule
        let standing: Standing
        let checks: [RouteCheck]
        /// Whether it is the first rule that matches the message, which determines its deduplication key.
        let isFirst: Bool

        var misses: [RouteCheck] { checks.filter { !$0.holds } }
        /// The checks to show: an implicit one only if it fails.
        var told: [RouteCheck] {
            checks.filter { check in !check.holds || rule.conditions.contains { $0.name == check.name } }
        }

        /// Whether exactly one of several conditions fails.
        var isNearMiss: Bool { standing == .missed && told.count > 1 && misses.count == 1 }
    }

    let source: String
    let file: String
    let message: PushMessage
    let rules: [Rule]
    let receipt: TestReceipt
    let taker: RoutingRule?

    /// Explains a receipt; nil without a message.
    init?(_ rules: RoutingRules, _ receipt: TestReceipt, source: String) {
        guard let message = receipt.trace.message else { return nil }
        self.source = source
        self.message = message
        self.receipt = receipt
        file = rules.file
        var taker: RoutingRule?
        var isNamed = false
        self.rules = rules.rules.map { rule in
            let checks = rule.explain(message)
            let standing: Standing = taker != nil ? .notTried : checks.allSatisfy(\.holds) ? .taken : .missed
            defer { isNamed = isNamed || standing == .taken }
            if standing == .taken, rule.options.flow == .stop { taker = rule }
            return Rule(rule: rule, standing: standing, checks: checks, isFirst: standing == .taken && !isNamed)
        }
        self.taker = taker
    }

    var stages: [Trace.Stage] { receipt.trace.stages }

    var outcomeInWords: String {
        switch receipt.outcome {
        case .handled:
            let taken = rules.filter { $0.standing == .taken && !isTooOld(for: $0.rule) }
                .map { Self.words($0.rule.action) }
            return taken.joined(separator: ", then ")
        case .failed(let failure): return "\(failure.place) failed"
        case .undecodable(let error): return error.detail
        case .expired:
            let unit = message.sentAt?.doubtOfUnit.map { ", but \($0)" }
            return Self.words(receipt.outcome.name, reason: nil) + (unit ?? "")
        default: return Self.words(receipt.outcome.name, reason: receipt.outcome.reason)
        }
    }

    /// The meaning of an outcome, by its name and reason in ``KiiPush/Outcome``.
    static func words(_ outcome: String, reason: String?) -> String {
        let why = reason ?? "no reason given"
        switch outcome {
        case "handled": return "its handlers succeeded"
        case "duplicate": return "the same message was handled before"
        case "looped": return "the loop guard drops it: \(LoopLayer(rawValue: why).map(words) ?? why)"
        case "paced": return "it waits for its pace: many messages of its object, sender or topic came at once"
        case "deadLettered": return "it is dead-lettered: \(why)"
        case "quarantined": return "it is dead-lettered: the program ended four times while it handled the message"
        case "superseded": return "a newer change of the same object replaced it"
        case "expired": return "it is older than 'maxAge' allows, so no handler is called"
        case "refused" where why == "app": return "the payload belongs to another app"
        case "refused" where why == "scope": return "its scope is incomplete, unknown, or not listed under 'serving'"
        case "unrouted" where why == "noRoute": return "no rule matches"
        case "unrouted":
            return "it contradicts itself, and the rule that would match requires a certain or likely kind"
        case "failed": return "\(why) failed"
        case "undecodable": return "it is not a push message: \(why)"
        default: return why
        }
    }

    /// Whether a rule matches the message but ignores it because of its age.
    func isTooOld(for rule: RoutingRule) -> Bool {
        receipt.trace.expired.containsExactly(rule.id)
    }

    static func words(_ action: RoutingRule.Action) -> String {
        switch action {
        case .handler(let name): "the handler '\(name)' is called"
        case .run(let arguments): "the program \(arguments.first ?? "") is run"
        case .print: "the message is printed"
        case .write(let write): "the object \(write.object.uri) is written"
        case .send(let push): "a push is sent to \(push.topic.uri)"
        }
    }

    private static func words(_ layer: LoopLayer) -> String {
        switch layer {
        case .identity: "its sender is listed under 'me', so this device caused it itself"
        case .echo: "a handler announced the write that caused it"
        case .lineage: "it passed through too many handlers"
        case .pace: "it had to wait for its pace"
        case .killSwitch: "it was switched off"
        case .ownBucket: "its handler announced a write to the bucket that it was called for"
        }
    }

    // MARK: JSON

    /// The whole explanation as one object on one line.
    var json: String {
        JSONWriter.object { writer in
            writer.member("source", source)
            writer.member("file", file)
            writer.member("kind", message.kind.rawValue)
            writer.member("certainty", message.certainty.rawValue)
            writer.member("evidence", message.classification.evidence)
            writer.objects("conflicts", message.classification.conflicts) { writer, conflict in
                writer.member("name", conflict.name)
                writer.member("reason", conflict.reason)
            }
            writer.objects("rules", rules) { writer, rule in rule.write(to: &writer, message) }
            writer.objects("stages", stages) { writer, stage in
                writer.member("name", stage.name)
                writer.member("verdict", stage.verdict)
            }
            writer.member("outcome", receipt.outcome.name)
            writer.member("reason", receipt.outcome.reason)
            writer.member("matched", rules.filter { $0.standing == .taken }.map(\.rule.id))
            writer.member("handlers", receipt.handlers)
            writer.member("expired", receipt.trace.expired)
            writer.list("cloud", receipt.cloud) { $0.value($1.value) }
            writer.member("words", outcomeInWords)
        }
    }
}

extension Explanation.Rule {
    fileprivate func write(to writer: inout JSONWriter, _ message: PushMessage) {
        writer.member("id", rule.id)
        writer.place(rule.position)
        writer.member("standing", standing.rawValue)
        writer.member("nearMiss", isNearMiss)
        if isFirst, let dedupe = rule.options.dedupe {
            writer.member("dedupe") { writer in
                writer.member("by", dedupe.field)
                writer.member("id", dedupe.id(of: message))
            }
        }
        Self.write("checks", checks, to: &writer)
    }

    private static func write(_ name: String, _ checks: [RouteCheck], to writer: inout JSONWriter) {
        writer.objects(name, checks) { writer, check in
            writer.member("name", check.name)
            writer.member("key", check.key)
            writer.member("expected", value: DataValue(json: check.expected) ?? .null)
            writer.member("actual", value: check.actual.flatMap { DataValue(json: $0) } ?? .null)
            writer.member("isThere", check.actual != nil)
            writer.member("holds", check.holds)
            if !check.parts.isEmpty { write("parts", check.parts, to: &writer) }
        }
    }
}
