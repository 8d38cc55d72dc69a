public import KiiPush
import Synchronization

/// Loads new rules into a running receiver only if they pass their checks.
///
/// They must parse, the linter must find no errors, their own tests must pass, and every handler that they name must be
/// registered.
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
/// A refused file changes nothing. A loaded file changes all routes at once: messages in progress keep their old
/// routes, later messages get the new ones, and traces show which (`Trace.generation`). The receiver keeps its state:
/// seen messages, the paces of all keys, the kill switch. A receiver that was made from rules also applies
/// the settings `loop` and `me` at once; those that it does not apply are in ``RulesUpdate/Loaded/needRestart``. The
/// tests run in their own receivers with their own clocks, and do not affect this one.
public final class RulesGate: Sendable {
    /// Checks rules for other problems, such as a missing handler; any problem that it returns refuses them.
    public typealias Check = @Sendable (RoutingRules) -> [RulesError.Problem]

    private struct State {
        var lastNumber: UInt64 = 0
        var loaded: UInt64 = 0
    }

    private let receiver: PushReceiver
    private let actions: (any RuleActions)?
    private let params: ParameterValues
    private let needsTests: Bool
    private let checks: [Check]
    private let state = Mutex(State())

    /// Guards a receiver's rules.
    ///
    /// - Parameters:
    ///   - receiver: the receiver.
    ///   - actions: what runs programs and prints.
    ///   - params: the values of this device, which each new file gets; one that lacks a value is refused.
    ///   - needsTests: whether to refuse a file without tests; by default it is loaded.
    ///   - checks: further checks that a file must pass before its tests run.
    public init(
        _ receiver: PushReceiver, actions: (any RuleActions)? = nil, params: ParameterValues = [:],
        needsTests: Bool = false, checks: [Check] = []
    ) {
        self.receiver = receiver
        self.actions = actions
        self.params = params
        self.needsTests = needsTests
        self.checks = checks
    }

    /// Tests a rules file, and loads it if it passes.
    ///
    /// If two updates overlap, the one called later wins, whichever finishes first.
    ///
    /// - Parameters:
    ///   - bytes: the file's content.
    ///   - file: the name of the file in problems.
    /// - Returns: the result.
    public func update(_ bytes: [UInt8], file: String) async -> RulesUpdate {
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        do throws(RulesError) {
            let rules = try RoutingRules(bytes, file: file, params: params)
            let errors = rules.lint().filter { $0.severity == .error }
            let problems =
                errors.map { RulesError.Problem(file: $0.file, position: $0.position, what: $0.what) }
                + checks.flatMap { $0(rules) }
            guard problems.isEmpty else { return .refused(problems) }
            let failures = await failures(of: try RuleTestRunner(rules, formats: receiver.formats))
            guard failures.isEmpty else { return .refused(failures) }
            return try load(rules, number, digest: FileDigest.text(bytes))
        } catch {
            return .refused(error.problems)
        }
    }

    private func failures(of runner: RuleTestRunner) async -> [RulesError.Problem] {
        var failures: [RuleTestFailure] = []
        if needsTests, let missing = runner.missingTests { failures.append(missing) }
        for test in runner.rules.tests where failures.count < RulesError.mostProblems {
            failures += await runner.run(test).failures
        }
        return failures.map { RulesError.Problem(file: $0.file, position: $0.position, what: $0.reason) }
    }

    /// Loads rules that passed, unless rules with a higher number are already loaded.
    func load(_ rules: RoutingRules, _ number: UInt64, digest: String) throws(RulesError) -> RulesUpdate {
        try state.withLock { state throws(RulesError) in
            guard number > state.loaded else { return .overtaken }
            let generation = try receiver.load(rules, actions: actions)
            state.loaded = number
            let unchanged = receiver.follow(rules)
            return .loaded(
                RulesUpdate.Loaded(rules: rules, generation: generation, digest: digest, needRestart: unchanged))
        }
    }
}

/// The result of a rules update.
@nonexhaustive
public enum RulesUpdate: Sendable {
    /// The rules are in force.
    case loaded(Loaded)
    /// The rules are not in force, and nothing has changed; the problems say why and where.
    case refused([RulesError.Problem])
    /// Newer rules were loaded while these were tested, so these were discarded.
    case overtaken

    /// Rules that are in force now.
    public struct Loaded: Sendable {
        /// The rules.
        public let rules: RoutingRules
        /// The generation in traces of messages that these rules route.
        public let generation: Int
        /// The SHA-256 of the file, as `sha256sum` prints it.
        public let digest: String
        /// The settings among `app`, `serving` and `dedupe` that differ from the receiver's, and take effect only with
        /// a new receiver.
        ///
        /// For a receiver that was not made from rules: the settings among `app`, `me`, `loop` and `loop.writesAs` that
        /// the file states and that are known to differ. Its `serving` and `dedupe` belong to the program, and cannot
        /// be compared.
        public let needRestart: [String]
    }
}

extension RulesUpdate: CustomStringConvertible {
    /// The result for a log: the generation, or every problem on a line.
    public var description: String {
        switch self {
        case .loaded(let loaded):
            let restart =
                loaded.needRestart.isEmpty ? "" : "; restart for \(loaded.needRestart.joined(separator: ", "))"
            let rules = counted(loaded.rules.rules.count, "rule")
            return "\(loaded.rules.file): \(rules), generation \(loaded.generation)\(restart)"
        case .refused(let problems): return problems.map(\.description).joined(separator: "\n")
        case .overtaken: return "overtaken by a newer file"
        }
    }
}
