import KiiPushAgent
import KiiPush
import KiiPushRules

/// The contents of a picture of rules, independent of the language.
struct RulesGraph {
    struct Node {
        let id: String
        /// The rule's conditions, a line each: `bucket = "settings"`.
        let conditions: [String]
        let action: Int
        let continues: Bool
        /// Its declared writes.
        let writes: [String]
        let isInCycle: Bool
    }

    struct Feed: Hashable {
        let from: Int
        let to: Int
        let target: String
        let isInCycle: Bool
    }

    private static let longestLine = 56
    private static let mostConditions = 12

    let file: String
    let nodes: [Node]
    /// Handlers, programs and printing, without duplicates, in the order of their rules.
    let actions: [String]
    let feeds: [Feed]
    /// The stages before the rules, in order.
    let stages: [String]
    /// Which stages are middleware.
    let middleware: Range<Int>

    init(_ rules: RoutingRules) {
        file = Self.shown(rules.file)
        let before = ["transport", "decode"]
        stages = before + PushReceiver(rules: rules).middleware
        middleware = before.count..<stages.count
        let all = rules.feeds
        var inCycle: Set<Int> = []
        for feed in all where feed.isInCycle { inCycle.formUnion([feed.from, feed.to]) }
        var numbers: [String: Int] = [:]
        var actions: [String] = []
        nodes = rules.rules.enumerated().map { number, rule in
            let name = Self.name(rule.action)
            let action = numbers[name] ?? actions.count
            if action == actions.count {
                actions.append(name)
                numbers[name] = action
            }
            return Node(
                id: Self.shown(rule.id), conditions: Self.conditions(rule), action: action,
                continues: rule.flow == .continue, writes: Self.writes(rule), isInCycle: inCycle.contains(number))
        }
        self.actions = actions
        var seen: Set<Feed> = []
        feeds = all.map { feed in
            Feed(
                from: feed.from, to: feed.to, target: Self.shown(feed.target.description), isInCycle: feed.isInCycle)
        }.filter { seen.insert($0).inserted }
    }

    private static func conditions(_ rule: RoutingRule) -> [String] {
        let wanted = rule.wanted
        var lines = wanted.prefix(mostConditions).map { name, key, text in
            shown("\(key.map { "data \($0)" } ?? name) = \(text)")
        }
        if lines.isEmpty { lines = ["any message"] }
        if wanted.count > mostConditions { lines.append("and \(wanted.count - mostConditions) more") }
        return lines
    }

    private static func writes(_ rule: RoutingRule) -> [String] {
        let shown = rule.targets.prefix(mostConditions).map { Self.shown($0.uri.description) }
        let left = rule.targets.count - shown.count
        return left > 0 ? shown + ["\(left) more"] : shown
    }

    private static func name(_ action: RoutingRule.Action) -> String {
        switch action {
        case .handler(let name): shown(name)
        case .run(let arguments): shown("run " + arguments.joined(separator: " "))
        case .print: "print"
        case .write(let write): "write \(shown(write.object.uri.description))"
        case .send(let push): "send \(shown(push.topic.uri.description))"
        }
    }

    /// A text for a label: escaped and truncated.
    static func shown(_ text: String) -> String {
        let safe = escaped(text)
        return safe.count <= longestLine ? safe : safe.prefix(longestLine - 1) + "…"
    }
}
