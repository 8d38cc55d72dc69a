// Parameters, settings and handlers.

import KiiPush

extension RulesLint {
    mutating func checkParameters() {
        for parameter in rules.unusedParameters {
            report(
                .unusedParameter, parameter.position, nil,
                "no placeholder uses the parameter '\(parameter.name)'; write ${param.\(parameter.name)}, or leave it out"
            )
        }
        for problem in rules.unusedValues {
            findings.append(
                RuleFinding(
                    code: .unusedValue, file: problem.file, position: problem.position, what: problem.what, rule: nil,
                    related: []))
        }
    }

    mutating func checkSettings() {
        if let serving = rules.serving {
            for (identity, position) in zip(rules.me, rules.positions["me"] ?? []) {
                guard case .user(let user) = identity, serving.matches(.user(user)) else { continue }
                report(
                    .identityServed, position, nil,
                    "the user '\(Suggestion.shown(user.id))' of 'me' is also in 'serving': what another device of that "
                        + "user writes would be dropped; if there may be one, move the user to 'writesAs' of 'loop'")
            }
        }
        guard let app = rules.app else { return }
        for rule in rules.rules {
            for target in rule.targets {
                guard let other = target.uri.appID, !other.isExactly(app) else { continue }
                report(
                    .otherApp, target.position, rule.id,
                    "the rule \(name(rule)) writes to the app '\(Suggestion.shown(other))', and the file is of "
                        + "'\(Suggestion.shown(app))'; leave the app out of the URI")
            }
        }
    }

    // MARK: Delivery

    /// Finds `maxAge` limits that a message exceeds during the first pause after a failure.
    mutating func checkAges() {
        if let position = rules.deliveryPosition { check(rules.delivery, at: position, nil) }
        for rule in rules.rules {
            guard let delivery = rule.options.delivery, let position = rule.deliveryPosition else { continue }
            check(delivery, at: position, rule)
        }
    }

    private mutating func check(_ delivery: DeliverySettings, at position: SourcePosition, _ rule: RoutingRule?) {
        let pause = delivery.pause(after: 1, -1)
        guard let most = delivery.maxAge, most < pause, delivery.attempts > 1 else { return }
        let whose = rule.map { "of the rule \(name($0)) " } ?? ""
        report(
            .neverRetried, position, rule?.id,
            "a message \(whose)that fails is never tried again: the first pause is at least \(pause.ruleText), and by "
                + "then it is older than the 'maxAge' of \(most.ruleText); lower 'backoff', raise 'maxAge', or say "
                + "\"attempts\": 1")
    }

    // MARK: Handlers

    mutating func checkHandlers(_ registered: [String]?) {
        let known = registered.map { Set($0.map { ExactText($0) }) }
        var alive: Set<ExactText> = []
        for (number, rule) in rules.rules.enumerated() where !dead.contains(number) {
            if case .handler(let handler) = rule.action { alive.insert(ExactText(handler)) }
        }
        var named: Set<ExactText> = []
        for rule in rules.rules {
            guard case .handler(let handler) = rule.action else { continue }
            let isFirst = named.insert(ExactText(handler)).inserted
            if let registered, known?.contains(ExactText(handler)) == false {
                report(
                    .unknownHandler, rule.actionPosition, rule.id,
                    Suggestion.unknown("handler", handler, known: registered) + "; register it, or name one that is")
            } else if isFirst, !alive.contains(ExactText(handler)) {
                report(
                    .unreachableHandler, rule.actionPosition, rule.id,
                    "the handler '\(Suggestion.shown(handler))' is never called: no rule that names it takes a message")
            }
        }
        for handler in registered ?? [] where !named.contains(ExactText(handler)) {
            report(
                .unusedHandler, .start, nil,
                "no rule names the handler '\(Suggestion.shown(handler))'; add a rule for it, or do not register it")
        }
    }
}

extension RoutingRules {
    /// The values that are given for parameters that the file does not declare.
    package var unusedValues: [RulesError.Problem] {
        let declared = params.map(\.name)
        return given.names.filter { !declared.containsExactly($0) }.compactMap { name in
            given[name].map { value in
                RulesError.Problem(
                    file: value.file, position: value.position,
                    what: "\(file) declares no such parameter: "
                        + Suggestion.unknown("parameter", name, known: declared))
            }
        }
    }
}
