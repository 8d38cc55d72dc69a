// Rules that feed themselves or each other.

import KiiPush

extension RulesLint {
    mutating func checkCycles(_ feeds: RuleFeeds) {
        let inCycles = feeds.feeds.filter(\.isInCycle)
        var reported: Set<Int> = []
        for feed in inCycles where feed.from == feed.to && reported.insert(feed.from).inserted { reportSelf(feed) }

        var seen: Set<Int> = []
        let others = inCycles.filter { $0.from != $0.to }
        var next: [Int: [RuleFeed]] = [:]
        for feed in others { next[feed.from, default: []].append(feed) }
        for feed in others where seen.insert(feeds.groups[feed.from]).inserted {
            if let cycle = Self.shortestCycle(from: feed.from, next) { reportCycle(cycle) }
        }
    }

    private mutating func reportSelf(_ feed: RuleFeed) {
        let rule = rules.rules[feed.from]
        let target = Suggestion.shown(feed.target.description)
        let place = position(of: feed.target, writtenBy: rule)
        if rule.options.pace == .unlimited {
            report(
                .unguardedCycle, place, rule.id,
                "the rule \(name(rule)) listens to what it writes itself, \(target), with an unlimited pace: nothing but "
                    + "announced writes and stamps would end the loop; leave out \"pace\": \"unlimited\", or write elsewhere"
            )
        } else {
            let advice =
                rule.ownTarget?.uri == feed.target
                ? "\(causesElsewhere); write elsewhere, or leave out the senders that have this rule"
                : "each message would cause the next; write elsewhere, exclude the device's own sender, or have the "
                    + "handler announce the write"
            report(
                .feedsItself, place, rule.id,
                "the rule \(name(rule)) listens to what it writes itself, \(target): \(advice)")
        }
    }

    /// What happens in a cycle of rules' own writes, each of which carries a stamp.
    private var causesElsewhere: String {
        "each message may cause the next one on another device, up to \(counted(rules.loop.hops, "time"))"
    }

    /// The most writes of a cycle that a report lists.
    private static let mostSteps = 8

    private mutating func reportCycle(_ cycle: [RuleFeed]) {
        guard let first = cycle.first else { return }
        let members = cycle.map { rules.rules[$0.from] }
        var steps: [String] = []
        for feed in cycle.prefix(Self.mostSteps) {
            let taker = rules.rules[feed.to]
            let target = Suggestion.shown(feed.target.description)
            let from = rules.rules[feed.from]
            steps.append(
                "\(name(from)) (\(from.position)) writes \(target), which \(name(taker)) (\(taker.position)) takes")
        }
        if cycle.count > Self.mostSteps { steps.append("and so on, over \(cycle.count) rules") }
        let isUnguarded = members.allSatisfy { $0.options.pace == .unlimited }
        let advice =
            isUnguarded
            ? "all of them have an unlimited pace: nothing but announced writes and stamps would end the loop; leave out "
                + "\"pace\": \"unlimited\""
            : zip(members, cycle).allSatisfy { $0.ownTarget?.uri == $1.target }
                ? "\(causesElsewhere); break the loop"
                : "each message would cause the next; break the loop, or have the handlers announce their writes"
        report(
            isUnguarded ? .unguardedCycle : .cycle, position(of: first.target, writtenBy: members[0]), members[0].id,
            "rules that feed each other: \(steps.joined(separator: "; ")): \(advice)",
            related: members.map { RuleFinding.Related(position: $0.position, what: "the rule \(name($0))") })
    }

    private func position(of target: KiiURI, writtenBy rule: RoutingRule) -> SourcePosition {
        rule.targets.first { $0.uri == target }?.position ?? rule.position
    }

    /// The shortest path back to a rule, through others.
    private static func shortestCycle(from start: Int, _ next: [Int: [RuleFeed]]) -> [RuleFeed]? {
        var cameBy: [Int: RuleFeed] = [:]
        var queue = [start]
        var head = 0
        while head < queue.count {
            let node = queue[head]
            head += 1
            for feed in next[node] ?? [] {
                if feed.to == start {
                    var cycle = [feed]
                    var at = feed.from
                    while at != start, let step = cameBy[at] {
                        cycle.append(step)
                        at = step.from
                    }
                    return cycle.reversed()
                }
                if cameBy[feed.to] == nil {
                    cameBy[feed.to] = feed
                    queue.append(feed.to)
                }
            }
        }
        return nil
    }
}

/// The strongly connected components of a directed graph, which contain its cycles.
struct StrongComponents {
    /// The number of the component that contains a node, by node.
    private(set) var numbers: [Int]

    /// Finds the components in time linear in nodes and edges.
    init(count: Int, edges: [(from: Int, to: Int)]) {
        numbers = [Int](repeating: -1, count: count)
        var next = [[Int]](repeating: [], count: count)
        for (from, to) in edges { next[from].append(to) }
        // Tarjan's algorithm, with an explicit stack instead of recursion: a chain of ten thousand rules is that deep.
        var order = [Int](repeating: -1, count: count)
        var low = [Int](repeating: 0, count: count)
        var open: [Int] = []
        var last = 0
        for root in 0..<count where order[root] < 0 {
            var path: [(node: Int, edge: Int)] = [(root, 0)]
            while let (node, edge) = path.last {
                if edge == 0 {
                    order[node] = last
                    low[node] = last
                    last += 1
                    open.append(node)
                }
                if edge < next[node].count {
                    path[path.count - 1].edge += 1
                    let other = next[node][edge]
                    if order[other] < 0 {
                        path.append((other, 0))
                    } else if numbers[other] < 0 {
                        low[node] = min(low[node], order[other])
                    }
                    continue
                }
                path.removeLast()
                if let parent = path.last?.node { low[parent] = min(low[parent], low[node]) }
                guard low[node] == order[node] else { continue }
                while let member = open.popLast() {
                    numbers[member] = node
                    if member == node { break }
                }
            }
        }
    }
}
