// Settings, handlers and tests.

extension RulesLint {
    mutating func checkSettings() {
        if let serving = rules.serving {
            for (index, identity) in rules.me.enumerated() {
                guard case .user(let user) = identity, serving.matches(.user(user)) else { continue }
                report(
                    .identityServed, index < rules.mePositions.count ? rules.mePositions[index] : .start, nil,
                    "the user '\(NearestName.shown(user.id))' of 'me' is also in 'serving': what another device of that user writes would be cut; if there may be one, move the user to 'writesAs' of 'loop'"
                )
            }
        }
        guard let app = rules.app else { return }
        for rule in rules.rules {
            for (index, target) in rule.writes.enumerated() {
                guard let other = target.appID, !other.isExactly(app) else { continue }
                report(
                    .otherApp, index < rule.writePositions.count ? rule.writePositions[index] : rule.position, rule.id,
                    "the rule \(name(rule)) writes to the app '\(NearestName.shown(other))', and the file is of '\(NearestName.shown(app))'; leave the app out of the URI"
                )
            }
        }
    }

    // MARK: Handlers

    mutating func checkHandlers(_ registered: [String]?) {
        var named: [ExactText: (first: RoutingRule, isAlive: Bool)] = [:]
        var order: [ExactText] = []
        let known = registered.map { Set($0.map { ExactText($0) }) }
        for (number, rule) in rules.rules.enumerated() {
            guard case .handler(let handler) = rule.action else { continue }
            let key = ExactText(handler)
            if named[key] == nil { order.append(key) }
            named[key] = (named[key]?.first ?? rule, named[key]?.isAlive == true || !dead.contains(number))
            if let registered, known?.contains(key) == false {
                report(
                    .unknownHandler, rule.actionPosition, rule.id,
                    NearestName.unknown("handler", handler, known: registered)
                        + "; register it, or name one that is")
            }
        }
        for key in order {
            guard let (rule, isAlive) = named[key], !isAlive, known?.contains(key) != false else { continue }
            report(
                .unreachableHandler, rule.actionPosition, rule.id,
                "the handler '\(NearestName.shown(key.text))' is never called: no rule that names it takes a message")
        }
        for handler in registered ?? [] where named[ExactText(handler)] == nil {
            report(
                .unusedHandler, .start, nil,
                "no rule names the handler '\(NearestName.shown(handler))'; add a rule for it, or do not register it")
        }
    }

    // MARK: Tests

    mutating func checkTests() {
        var rulesByID: [ExactText: Int] = [:]
        for (number, rule) in rules.rules.enumerated() { rulesByID[ExactText(rule.id)] = number }
        let handlers = Set(rules.rules.map { ExactText($0.handlerName) })
        for test in rules.tests {
            let name = "'\(NearestName.shown(test.name))'"
            if test.steps.isEmpty {
                report(.emptyTest, test.position, nil, "the test \(name) has no steps, and fails; add some, or drop it")
            }
            for step in test.steps {
                guard case .receive = step.action else { continue }
                guard let expect = step.expect, !expect.isEmpty else {
                    report(
                        .emptyTest, step.position, nil,
                        "the step expects nothing of its payload, and fails; say what is to come of it")
                    continue
                }
                check(expect, rulesByID, handlers)
            }
        }
    }

    private mutating func check(
        _ expect: RuleExpectation, _ rulesByID: [ExactText: Int], _ handlers: Set<ExactText>
    ) {
        func place(_ key: String) -> SourcePosition { expect.positions[key] ?? expect.position }
        func fail(_ key: String, _ what: String) { report(.impossibleTest, place(key), nil, what) }
        let outcome = expect.outcome
        if let layer = expect.layer, let outcome, outcome != "looped", outcome != "held" {
            fail("layer", "the outcome '\(outcome)' has no layer ('\(layer)'); only 'looped' and 'held' have one")
        }
        if expect.code != nil, let outcome, outcome != "undecodable" {
            fail("code", "the outcome '\(outcome)' has no code; only 'undecodable' has one")
        }
        if outcome == "undecodable",
            let key = ["rules", "handlers", "kind", "certainty"].first(where: {
                $0 == "rules" || $0 == "handlers"
                    ? ($0 == "rules" ? expect.rules : expect.handlers)?.isEmpty == false : expect.positions[$0] != nil
            })
        {
            fail(key, "what is undecodable has no '\(key)'; leave it out")
        }
        if outcome == "handled", expect.handlers?.isEmpty == true || expect.rules?.isEmpty == true {
            fail(
                "outcome", "a message that no handler ran for is not 'handled'; expect 'unrouted', or name the handlers"
            )
        }
        checkRules(expect, rulesByID, handlers)
    }

    private mutating func checkRules(
        _ expect: RuleExpectation, _ rulesByID: [ExactText: Int], _ handlers: Set<ExactText>
    ) {
        let rulesPlace = expect.positions["rules"] ?? expect.position
        for handler in expect.handlers ?? [] where !handlers.contains(ExactText(handler)) {
            let known = handlers.map(\.text).sorted()
            report(
                .impossibleTest, expect.positions["handlers"] ?? expect.position, nil,
                NearestName.unknown("handler", handler, known: known))
        }
        var numbers: [Int] = []
        for id in expect.rules ?? [] {
            guard let number = rulesByID[ExactText(id)] else {
                report(
                    .impossibleTest, rulesPlace, nil,
                    NearestName.unknown("rule", id, known: rules.rules.map(\.id)))
                continue
            }
            numbers.append(number)
        }
        for number in numbers where unmatched.contains(number) {
            report(
                .impossibleTest, rulesPlace, rules.rules[number].id,
                "the rule \(name(rules.rules[number])) takes no message, so no test can expect it")
        }
        for (number, next) in zip(numbers, numbers.dropFirst()) {
            let rule = rules.rules[number]
            if next <= number {
                report(
                    .impossibleTest, rulesPlace, rule.id,
                    "rules take a message in the order of the file, and \(name(rules.rules[next])) stands before \(name(rule))"
                )
            } else if rule.flow == .stop {
                report(
                    .impossibleTest, rulesPlace, rule.id,
                    "no rule takes a message behind \(name(rule)), which has no \"continue\": true")
            }
        }
        if let kind = expect.kind, let number = numbers.first(where: { !profiles[$0].kinds.contains(KindSet(kind)) }) {
            report(
                .impossibleTest, expect.positions["kind"] ?? expect.position, rules.rules[number].id,
                "the rule \(name(rules.rules[number])) takes no \(kind)")
        }
    }
}
