import KiiPushTesting
import Testing

@testable import KiiPush

/// Which step follows which, without a service: each case is what came of the steps, and the steps that were named.
struct MessageWalkTests {
    /// What came of a step.
    enum Came: Sendable {
        case judged(MessageWalk.Judgement)
        case switchedOff([String])
        case begun(Bool)
        /// How the handler of the route that is named has ended.
        case ran(Outcome)
        case failed(isRunning: Bool)
        case recorded
        case deadLettered(Outcome, isDurable: Bool)
        case deadLetteredKilled(Outcome)
        case undone
    }

    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var done: [String] = []
        let came: [Came]
        let steps: [String]
    }

    private static let failure = Outcome.failure(of: "a", TestError())
    private static let handled = Outcome.handled(MatchedRoutes())

    static let cases = [
        Case(
            testDescription: "each route is run once, and then it ends",
            came: [.judged(.handle), .begun(true), .ran(handled), .ran(handled)],
            steps: ["ask", "begin 1", "run a", "run b", "end handled"]),
        Case(
            testDescription: "what failed is run again, what succeeded is not",
            came: [
                .judged(.handle), .begun(true), .ran(handled), .ran(failure), .failed(isRunning: true), .recorded,
                .switchedOff([]), .begun(true), .ran(handled),
            ],
            steps: [
                "ask", "begin 1", "run a", "run b", "fail", "record retry", "retry", "lookForKills", "begin 2", "run b",
                "end handled",
            ]),
        Case(
            testDescription: "what failed as the service stops is recorded and left",
            came: [.judged(.handle), .begun(true), .ran(failure), .ran(handled), .failed(isRunning: false), .recorded],
            steps: ["ask", "begin 1", "run a", "run b", "fail", "record leave", "leave"]),
        Case(
            testDescription: "what could not be begun before the service stopped is left",
            came: [.judged(.handle), .begun(false)], steps: ["ask", "begin 1", "leave"]),
        Case(
            testDescription: "the routes that an earlier process has run are not run again", done: ["a"],
            came: [.judged(.end(.duplicate(.done))), .judged(.handle), .begun(true), .ran(handled)],
            steps: ["ask", "ask seen", "begin 1", "run b", "end handled"]),
        Case(
            testDescription: "what the chain ends is not begun", came: [.judged(.end(.refused(.scope)))],
            steps: ["ask", "end refused (scope)"]),
        Case(
            testDescription: "a stage that could not decide is undone, and asked again after a pause",
            came: [
                .judged(.end(failure)), .undone, .failed(isRunning: true), .recorded, .judged(.handle), .begun(true),
                .ran(handled), .ran(handled),
            ],
            steps: [
                "ask", "undo", "fail", "record retry", "retry", "ask", "begin 1", "run a", "run b", "end handled",
            ]),
        Case(
            testDescription: "a route that is switched off meanwhile is dead-lettered, the other one runs",
            came: [
                .judged(.handle), .begun(true), .ran(failure), .ran(failure), .failed(isRunning: true), .recorded,
                .switchedOff(["a"]), .begun(true), .ran(handled), .deadLetteredKilled(.deadLettered(.killSwitch)),
                .recorded,
            ],
            steps: [
                "ask", "begin 1", "run a", "run b", "fail", "record retry", "retry", "lookForKills", "begin 2", "run b",
                "deadLetterKilled a", "record end handled", "end handled",
            ]),
        Case(
            testDescription: "what is dead-lettered ends for the chain only when its dead letter is recorded",
            came: [
                .judged(.handle), .begun(true), .ran(failure), .ran(handled), .failed(isRunning: true), .recorded,
                .switchedOff([]), .begun(true), .ran(failure), .failed(isRunning: true),
                .deadLettered(.deadLettered(.failed), isDurable: true), .recorded,
            ],
            steps: [
                "ask", "begin 1", "run a", "run b", "fail", "record retry", "retry", "lookForKills", "begin 2", "run a",
                "fail", "deadLetter failed", "record end deadLettered (failed)", "end deadLettered (failed)",
            ]),
        Case(
            testDescription: "what an earlier process dead-lettered for all routes runs nowhere again",
            done: ["a", "b"],
            came: [.judged(.end(.duplicate(.done))), .judged(.handle), .begun(true)],
            steps: ["ask", "ask seen", "begin 1", "end handled"]),
        Case(
            testDescription: "after the last attempt it is dead-lettered; without room a durable inbox keeps it",
            came: [
                .judged(.handle), .begun(true), .ran(failure), .ran(handled), .failed(isRunning: true), .recorded,
                .switchedOff([]), .begun(true), .ran(failure), .failed(isRunning: true),
                .deadLettered(failure, isDurable: true), .recorded,
            ],
            steps: [
                "ask", "begin 1", "run a", "run b", "fail", "record retry", "retry", "lookForKills", "begin 2", "run a",
                "fail", "deadLetter failed", "record putOff", "putOff",
            ]),
    ]

    @Test("what the chain has not seen ends as soon as it is dead-lettered")
    func unasked() throws {
        var walk = try Self.walk()
        walk.prepare(for: .deadLetter(.backlogFull))
        let step = walk.start()
        #expect(step.words == "deadLetter backlogFull")
        let end = walk.deadLettered(.deadLettered(.backlogFull), .backlogFull, ["a", "b"], isDurable: true)
        #expect(end.words == "end deadLettered (backlogFull)")
    }

    private static func walk(done: [String] = []) throws -> MessageWalk {
        let message = try PushMessage(ServiceBench.payload(1))
        let routed = RoutedMessage(
            message, id: 1, arrivedAt: MonotonicInstant(nanoseconds: 0), app: nil, routeIDs: ["a", "b"])
        return MessageWalk(routed, nil, killed: (false, []), mostTries: 2, done: done)
    }

    @Test("what came of a step decides the next one", arguments: cases)
    func steps(test: Case) throws {
        var walk = try Self.walk(done: test.done)
        var step = walk.start()
        var steps = [step.words]
        for came in test.came {
            step = Self.next(&walk, step, came)
            steps.append(step.words)
            // Its turn has come again.
            if case .retry = step {
                step = walk.start()
                steps.append(step.words)
            }
        }
        #expect(steps == test.steps)
    }

    private static func next(_ walk: inout MessageWalk, _ step: MessageWalk.Step, _ came: Came) -> MessageWalk.Step {
        switch (step, came) {
        case (.ask(let bypass), .judged(let next)): walk.judged(next, 3, bypass)
        case (.undo(let failure, _), .undone): walk.failed(failure)
        case (.lookForKills, .switchedOff(let routes)): walk.switchedOff(routes)
        case (.begin, .begun(let isRecorded)): walk.begun(isRecorded)
        case (.run(let route), .ran(let outcome)): walk.ran(route, outcome)
        case (.fail(let failure), .failed(let isRunning)): walk.failed(failure, isRunning: isRunning)
        case (.record(let next), .recorded): next
        case (.deadLetter(let reason), .deadLettered(let outcome, let isDurable)):
            walk.deadLettered(outcome, reason, walk.remaining.map(\.id), isDurable: isDurable)
        case (.deadLetterKilled, .deadLetteredKilled(let outcome)): walk.deadLetteredKilled(outcome)
        default: .leave
        }
    }
}

extension MessageWalk.Step {
    /// The step in words.
    fileprivate var words: String {
        switch self {
        case .ask(.seen): "ask seen"
        case .begin(let attempt): "begin \(attempt)"
        case .run(let route): "run \(route.id)"
        case .record(let next): "record \(next.words)"
        case .deadLetter(let reason): "deadLetter \(reason.rawValue)"
        case .deadLetterKilled(let routes): "deadLetterKilled \(routes.joined(separator: " "))"
        case .end(let outcome): "end \(outcome)"
        default: String("\(self)".prefix { $0 != "(" })
        }
    }
}
