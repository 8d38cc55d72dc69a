import Synchronization

/// The answers of a message's routes, while its handlers run; only messages have one whose sender may wait for an
/// answer.
package final class GivenAnswers: Sendable {
    /// The routes for commands that matched the message when it came.
    let routes: [Route]
    private let given: Mutex<(attempt: Int, answers: [ExactText: Answer])>

    /// Begins with the answers that an earlier process has recorded.
    package init(_ routes: MatchedRoutes, _ earlier: [String: Answer] = [:]) {
        self.routes = routes.filter { $0.criteria.command != nil }
        given = Mutex((0, Dictionary(uniqueKeysWithValues: earlier.map { (ExactText($0.key), $0.value) })))
    }

    /// The answers by route.
    package var all: [ExactText: Answer] { given.withLock { $0.answers } }

    /// Forgets the answers of routes that are run again: one of a failed attempt does not count.
    func begin(_ attempt: Int, done: [String]) {
        given.withLock { given in given = (attempt, given.answers.filter { done.containsExactly($0.key.text) }) }
    }

    /// Takes an answer of this attempt; a handler of an earlier one may still run.
    func add(_ answer: Answer, of route: String, _ attempt: Int) {
        given.withLock { if attempt == $0.attempt { $0.answers[ExactText(route)] = answer } }
    }
}
