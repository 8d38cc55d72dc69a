import Synchronization

/// The answers of a message's routes, while its handlers run; only messages have one whose sender may wait for an
/// answer.
package final class GivenAnswers: Sendable {
    /// The routes for commands that matched the message when it came.
    let routes: [Route]
    private let given: Mutex<(attempt: Int, answers: [ExactText: Answer])>

    /// Begins with the answers that an earlier process has recorded, in the order of the routes that had handled it.
    package init(_ routes: MatchedRoutes, handled: [String] = [], _ earlier: [Answer?] = []) {
        self.routes = routes.filter { $0.criteria.command != nil }
        let answers = zip(handled, earlier).compactMap { route, answer in answer.map { (ExactText(route), $0) } }
        given = Mutex((0, Dictionary(answers, uniquingKeysWith: { first, _ in first })))
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
