// Settings and handlers.

import KiiPush

extension RulesLint {
    mutating func checkSettings() {
        if let serving = rules.serving {
            for (index, identity) in rules.me.enumerated() {
                guard case .user(let user) = identity, serving.matches(.user(user)) else { continue }
                report(
                    .identityServed, index < rules.mePositions.count ? rules.mePositions[index] : .start, nil,
                    "the user '\(Suggestion.shown(user.id))' of 'me' is also in 'serving': what another device of that "
                        + "user writes would be dropped; if there may be one, move the user to 'writesAs' of 'loop'"
                )
            }
        }
        guard let app = rules.app else { return }
        for rule in rules.rules {
            for target in rule.targets {
                guard let other = target.uri.appID, !other.isExactly(app) else { continue }
                report(
                    .otherApp, target.position, rule.id,
                    "the rule \(name(rule)) writes to the app '\(Suggestion.shown(other))', and the file is of "
                        + "'\(Suggestion.shown(app))'; leave the app out of the URI"
                )
            }
        }
    }

    // MARK: Delivery

    /// Finds `maxAge` limits that a message exceeds during the first pause after a failure.
    mutating func checkAges() {
        if let position = rules.deliveryPosition { check(rules.delivery, at: position, nil) }
        for rule in rules.rules {
            guard let delivery = rule.delivery, let position = rule.deliveryPosition else { continue }
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
                + "\"attempts\": 1"
        )
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
                    Suggestion.unknown("handler", handler, known: registered)
                        + "; register it, or name one that is")
            }
        }
        for key in order {
            guard let (rule, isAlive) = named[key], !isAlive, known?.contains(key) != false else { continue }
            report(
                .unreachableHandler, rule.actionPosition, rule.id,
                "the handler '\(Suggestion.shown(key.text))' is never called: no rule that names it takes a message")
        }
        for handler in registered ?? [] where named[ExactText(handler)] == nil {
            report(
                .unusedHandler, .start, nil,
                "no rule names the handler '\(Suggestion.shown(handler))'; add a rule for it, or do not register it")
        }
    }
}
