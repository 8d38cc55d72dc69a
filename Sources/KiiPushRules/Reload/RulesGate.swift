public import KiiPush
import Synchronization

/// Lets new rules into a running receiver only when they prove themselves.
///
/// They must parse, the linter must be sure of no error in them, they must pass their own tests, and every handler that
/// they name must be there.
///
/// ```swift
/// let gate = RulesGate(receiver)
/// switch await gate.update(bytes, file: "rules.json") {
/// case .loaded(let update): print("generation", update.generation)
/// case .refused(let problems): for problem in problems { print(problem) }
/// case .overtaken: break
/// }
/// ```
///
/// A file that is refused changes nothing. One that is loaded changes all routes at once: messages that are being
/// handled keep theirs to their end, later ones get the new ones, and traces say which (`Trace.generation`). What the
/// receiver remembers lives on: seen messages, breakers with what they hold, the kill switch. Of the settings beside
/// the rules, a receiver that was made of rules takes over `loop` and `me` at once; what it does not follow is
/// ``RulesUpdate/Loaded/needRestart``. The tests run in receivers of their own on clocks of their own, and touch
/// nothing of this one.
public final class RulesGate: Sendable {
    /// Looks for what else is wrong with rules, such as a handler that they should name; what it returns refuses them.
    public typealias Check = @Sendable (RoutingRules) -> [RulesError.Problem]

    private struct State {
        var lastNumber: UInt64 = 0
        var loaded: UInt64 = 0
    }

    private let receiver: PushReceiver
    private let actions: (any RuleActions)?
    private let needsTests: Bool
    private let checks: [Check]
    private let state = Mutex(State())

    /// Guards a receiver's rules.
    ///
    /// - Parameters:
    ///   - receiver: the receiver.
    ///   - actions: what runs programs and prints.
    ///   - needsTests: whether a file without tests is refused; by default it is loaded.
    ///   - checks: what else a file must pass, before its tests run.
    public init(
        _ receiver: PushReceiver, actions: (any RuleActions)? = nil, needsTests: Bool = false, checks: [Check] = []
    ) {
        self.receiver = receiver
        self.actions = actions
        self.needsTests = needsTests
        self.checks = checks
    }

    /// Puts a rules file to the test, and loads it when it passes.
    ///
    /// Of two updates at a time the one that was called later wins, whichever is ready first.
    ///
    /// - Parameters:
    ///   - bytes: the file's content.
    ///   - file: what problems call it.
    /// - Returns: what became of it.
    public func update(_ bytes: [UInt8], file: String) async -> RulesUpdate {
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        do throws(RulesError) {
            let rules = try RoutingRules(bytes, file: file)
            let problems = Self.lintErrors(rules) + checks.flatMap { $0(rules) }
            guard problems.isEmpty else { return .refused(problems) }
            let failures = await failures(of: try RuleTestRunner(rules))
            guard failures.isEmpty else { return .refused(failures) }
            return try load(rules, number)
        } catch {
            return .refused(error.problems)
        }
    }

    /// What the linter is sure of; its warnings refuse nothing.
    private static func lintErrors(_ rules: RoutingRules) -> [RulesError.Problem] {
        rules.lint().filter { $0.severity == .error }
            .map { RulesError.Problem(file: $0.file, position: $0.position, what: $0.what) }
    }

    private func failures(of runner: RuleTestRunner) async -> [RulesError.Problem] {
        var failures: [RuleTestFailure] = []
        if needsTests, let missing = runner.missingTests { failures.append(missing) }
        for test in runner.rules.tests where failures.count < RulesError.mostProblems {
            failures += await runner.run(test).failures
        }
        return failures.map { RulesError.Problem(file: $0.file, position: $0.position, what: $0.reason) }
    }

    /// Loads rules that passed, unless those of a later number are loaded.
    func load(_ rules: RoutingRules, _ number: UInt64) throws(RulesError) -> RulesUpdate {
        try state.withLock { state throws(RulesError) in
            guard number > state.loaded else { return .overtaken }
            let generation = try receiver.load(rules, actions: actions)
            state.loaded = number
            let unchanged = receiver.follow(rules)
            return .loaded(RulesUpdate.Loaded(rules: rules, generation: generation, needRestart: unchanged))
        }
    }
}
