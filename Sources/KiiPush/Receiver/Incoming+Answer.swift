extension Incoming {
    /// What the sender of the message gets: the answer of the first route that has handled it and gave one.
    ///
    /// A command that no handler has answered is answered by how its own routes have ended, whatever became of the
    /// message's other ones. Nil if nobody waits, or nobody answers.
    package func answer(_ outcome: Outcome) -> Answer? {
        guard let answers = message.answers, let byOutcome = Answer(outcome) else { return nil }
        let (given, handled) = (answers.all, routes(handledBy: outcome))
        let first = handled.lazy.compactMap { given[ExactText($0)] }.first
        // The rules may have been loaded again since it came, and the chain may have stopped its routes.
        let current = message.routes.filter { $0.criteria.command != nil }
        let takers = current.isEmpty ? answers.routes : current
        guard !takers.isEmpty else { return first }
        var answer = first ?? self.answer(of: takers, handled, byOutcome)
        guard let command = DirectPushMessage(message.message)?.command else { return answer }
        for action in command.actions {
            let takers = takers.filter { $0.criteria.command?.matches(action.name) == true }
            let reason: String? =
                if takers.isEmpty {
                    "no rule takes this action"
                } else if takers.allSatisfy({ handled.containsExactly($0.id) }) {
                    takers.lazy.compactMap { given[ExactText($0.id)] }.first { $0.status != .succeeded }?.words
                } else {
                    self.answer(of: takers, handled, byOutcome).words
                }
            guard let reason else { continue }
            answer[failureOf: action.name] = reason
            if answer.status == .succeeded { (answer.status, answer.reason) = (.failed, reason) }
        }
        // With them it may be more than an inbox can read again.
        if Answer(json: answer.jsonText) == nil { answer.data = nil }
        return answer
    }

    /// The answer of routes that gave none.
    private func answer(of takers: [Route], _ handled: [String], _ byOutcome: Answer) -> Answer {
        if takers.allSatisfy({ handled.containsExactly($0.id) }) { return Answer(.succeeded) }
        guard byOutcome.status == .succeeded else { return byOutcome }
        let isExpired = takers.contains { end(of: $0.id) == .expired }
        return isExpired ? Answer(.expired, reason: Self.tooLate) : .failed("its rule did not handle it")
    }

    fileprivate static let tooLate = "it came too late"
}

extension Answer {
    /// The answer to a command that no handler has answered; nil for an outcome after which another copy is answered,
    /// or another device.
    fileprivate init?(_ outcome: Outcome) {
        switch outcome {
        case .handled: self.init(.succeeded)
        case .expired: self.init(.expired, reason: Incoming.tooLate)
        case .deadLettered, .quarantined, .looped:
            self.init(.failed, reason: [outcome.name, outcome.reason].compactMap(\.self).joined(separator: ": "))
        default: return nil
        }
    }
}
