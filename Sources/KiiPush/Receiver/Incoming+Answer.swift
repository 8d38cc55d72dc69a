extension Incoming {
    /// What the sender of the message gets: the answer of the first route that has handled it and gave one.
    ///
    /// A command that no handler has answered is answered by its outcome. Nil if nobody waits, or nobody answers.
    package func answer(_ outcome: Outcome) -> Answer? {
        guard let answers = message.answers, let byOutcome = Answer(outcome) else { return nil }
        let (given, handled) = (answers.all, routes(handledBy: outcome))
        let first = handled.lazy.compactMap { given[$0] }.first
        // The rules may have been loaded again since it came, and the chain may have stopped its routes.
        let current = message.routes.filter { $0.criteria.command != nil }
        let takers = current.isEmpty ? answers.routes : current
        guard !takers.isEmpty else { return first }
        var answer = first ?? byOutcome
        guard let command = DirectPushMessage(message.message)?.command else { return answer }
        for action in command.actions {
            let takers = takers.filter { $0.criteria.command?.matches(action.name) == true }
            let reason: String? =
                if takers.isEmpty {
                    "no rule takes this action"
                } else if takers.allSatisfy({ handled.containsExactly($0.id) }) {
                    takers.lazy.compactMap { given[$0.id] }.first { $0.status != .succeeded }?.words
                } else {
                    byOutcome.status == .succeeded ? "its rule did not handle it" : byOutcome.words
                }
            guard let reason else { continue }
            answer.failedActions[action.name] = reason
            if answer.status == .succeeded { (answer.status, answer.reason) = (.failed, reason) }
        }
        // With them it may be more than an inbox can read again.
        if Answer(json: answer.json) == nil { answer.data = nil }
        return answer
    }
}

extension Answer {
    /// The answer to a command that no handler has answered; nil for an outcome after which another copy is answered,
    /// or another device.
    fileprivate init?(_ outcome: Outcome) {
        switch outcome {
        case .handled: self.init(.succeeded)
        case .expired: self.init(.expired, reason: "it came too late")
        case .deadLettered, .quarantined, .looped:
            self.init(.failed, reason: [outcome.name, outcome.reason].compactMap(\.self).joined(separator: ": "))
        default: return nil
        }
    }
}
