package import KiiPush

/// Runs the tests of a rules file, each through its own real receiver on a virtual clock.
///
/// The receiver is complete, as `PushReceiver(rules:)` makes it; only handlers, programs, printing and cloud calls are
/// stand-ins. Tests may run at the same time: the rules are compiled once, and each test has its own state.
///
/// In rules with parameters, a test runs with each row of its table of values, and with the file's defaults for others;
/// only a parameter without both has the value of this device. So a test has the same result on every device. A secret
/// parameter keeps its placeholder.
package final class RuleTestRunner: Sendable {
    package let rules: RoutingRules
    /// The rules with the values that tests run with, and a receiver that has loaded them.
    private let variants: [(rules: RoutingRules, compiled: PushReceiver)]

    package init(_ rules: RoutingRules, formats: PayloadFormats = .shipped) throws(RulesError) {
        self.rules = rules
        var variants: [(rules: RoutingRules, compiled: PushReceiver)] = []
        for rules in rules.variants.isEmpty ? [rules] : rules.variants {
            let compiled = PushReceiver(rules: rules, formats: formats, clock: RuleTestClock())
            try compiled.loadStandIns(rules)
            variants.append((rules, compiled))
        }
        self.variants = variants
    }

    /// Runs one test, with each row of its values.
    package func run(_ test: RuleTest) async -> RuleTestResult {
        var none: RuleCoverage?
        return await run(test, counting: &none)
    }

    /// Runs one test, and counts its coverage unless it is nil.
    package func run(_ test: RuleTest, counting coverage: inout RuleCoverage?) async -> RuleTestResult {
        var whole = RuleTestResult(test: test, failures: [], cloud: [])
        let (hasRows, isCounted) = (test.variants != nil, coverage != nil)
        for (number, variant) in (test.variants ?? [0]).enumerated() {
            let (rules, compiled) = variants[variant]
            var run = RuleTestRun(
                rules, test, row: test.params.isEmpty ? nil : number + 1, routesOf: compiled,
                // Moved, not copied: with two references, counting would copy the tallies of ten thousand rules.
                coverage: hasRows && isCounted ? RuleCoverage(rules) : coverage.take())
            whole.add(await run.result())
            if !hasRows { coverage = run.coverage } else if let counted = run.coverage { coverage?.add(counted) }
        }
        return whole
    }

    /// The failure of a file that has no tests.
    package var missingTests: RuleTestFailure? {
        guard rules.tests.isEmpty else { return nil }
        return RuleTestFailure(
            file: rules.file, position: .start, what: "the file has no tests; add a list 'tests'")
    }
}

package struct RuleTestResult: Sendable {
    package let test: RuleTest
    package private(set) var failures: [RuleTestFailure]
    /// The rules' cloud actions that were simulated, in order; a test calls no cloud.
    package private(set) var cloud: [Done]

    package struct Done: Sendable, Hashable {
        /// The number of the step, from 1; for a message that had to wait, the step in which it was handled.
        package let step: Int
        /// The number of the row of the test's values, from 1; nil if it has none.
        package let row: Int?
        package let action: CloudAction
    }

    /// Adds what a further row had as its result.
    mutating func add(_ other: RuleTestResult) {
        failures += other.failures
        cloud += other.cloud
    }

    package var passed: Bool { failures.isEmpty }
}

struct RuleTestRun {
    private let rules: RoutingRules
    private let test: RuleTest
    /// The number of the row of values, from 1; nil without rows.
    private let row: Int?
    private let clock = RuleTestClock()
    private let harness: ReceiverHarness
    private(set) var coverage: RuleCoverage?
    private var failures: [RuleTestFailure] = []
    private var elapsed = Duration.zero
    private var done: [RuleTestResult.Done] = []

    /// Makes a run with its own receiver, with the routes of one that has loaded the rules with stand-ins.
    init(_ rules: RoutingRules, _ test: RuleTest, row: Int?, routesOf compiled: PushReceiver, coverage: RuleCoverage?) {
        (self.rules, self.test, self.row, self.coverage) = (rules, test, row, coverage)
        let receiver = PushReceiver(rules: rules, formats: compiled.formats, clock: clock)
        receiver.takeRoutes(of: compiled)
        harness = ReceiverHarness(receiver, clock: clock)
    }

    mutating func result() async -> RuleTestResult {
        clock.wallNow = test.now
        if test.steps.isEmpty { fail(test.position, nil, "the test has no steps") }
        for (index, step) in test.steps.enumerated() { await take(step, number: index + 1) }
        return RuleTestResult(test: test, failures: failures, cloud: done)
    }

    private mutating func take(_ step: RuleTestStep, number: Int) async {
        if step.at > elapsed {
            note(await harness.advance(by: step.at - elapsed), number)
            elapsed = step.at
        }
        let place = (number: number, position: step.position)
        switch step.action {
        case .receive(let incoming):
            let payload = incoming.payload
            harness.startWallClock(with: payload)
            let receipt = await harness.send(payload, failing: incoming.fail)
            if let message = receipt.trace.message { coverage?.count(message) }
            note([receipt] + receipt.caused, number)
            guard let expect = step.expect, !expect.isEmpty else {
                return fail(
                    step.expect?.position ?? step.position, place,
                    "nothing is expected of the message; it was \(receipt.trace.outcome), so expect at least its "
                        + "outcome")
            }
            compare(receipt, expect, place)
        case .write(let uri):
            let isOfOtherApp = uri.appID != nil && rules.app != nil && uri.appID != rules.app
            if !isOfOtherApp, let object = uri.object { harness.receiver.loopGuard?.announce(object).done() }
        // For the rest of the test.
        case .kill(let target): harness.receiver.loopGuard?.kill(target, for: .nanoseconds(Int64.max))
        case .revive(let target): harness.receiver.loopGuard?.revive(target)
        }
    }

    private mutating func note(_ receipts: [ReceiverHarness.Ended], _ step: Int) {
        for receipt in receipts {
            coverage?.count(receipt.trace.outcome)
            done += receipt.cloud.map { RuleTestResult.Done(step: step, row: row, action: $0) }
        }
    }

    // MARK: Comparing

    private mutating func compare(
        _ receipt: ReceiverHarness.Ended, _ expect: RuleExpectation, _ place: (number: Int, position: SourcePosition)
    ) {
        let outcome = receipt.trace.outcome
        let message = receipt.trace.message
        let isLooped = outcome.name == "looped"
        func text(_ text: String?) -> DataValue? { text.map { .string($0) } }
        func list(_ texts: [String]?) -> DataValue? { texts.map { .array($0.map { .string($0) }) } }
        let compared: [(key: String, expected: DataValue?, actual: DataValue?)] = [
            ("outcome", text(expect.outcome), text(outcome.name)),
            ("reason", text(expect.reason), text(outcome.reason)),
            ("layer", text(expect.layer), text(isLooped ? outcome.reason : nil)),
            ("code", text(expect.code), text(outcome.name == "undecodable" ? outcome.reason : nil)),
            ("rules", list(expect.rules), list(receipt.trace.routes)),
            ("handlers", list(expect.handlers), list(receipt.trace.handlers)),
            ("cloud", expect.cloud.map { .array($0) }, .array(receipt.cloud.map(\.value))),
            ("kind", text(expect.kind?.rawValue), text(message?.kind.rawValue)),
            ("certainty", text(expect.certainty?.rawValue), text(message?.certainty.rawValue)),
        ]
        let wrong = compared.filter { $0.expected != nil && $0.expected != $0.actual }
        let isUnhandled = wrong.isEmpty && expect.impliesHandled && outcome.name != "handled"
        guard !wrong.isEmpty || isUnhandled else { return }
        // Only once for a failing step: this evaluates each condition of each rule again.
        let verdicts = message.map { RuleVerdict.all($0, rules.rules, expect) } ?? []
        var stages = receipt.trace.stages.map { "\($0.name): \($0.verdict)" }
        // With the evidence, and the contradictions of an ambiguous message.
        if let message, !stages.isEmpty { stages[0] = "decode: \(message.classification)" }
        for (key, expected, actual) in wrong {
            guard let expected else { continue }
            let why = key == "outcome" ? outcome.reason.map { " (\($0))" } ?? "" : ""
            fail(
                expect.positions[key] ?? expect.position, place,
                "\(key): expected \(expected.jsonText), found \(actual?.jsonText ?? "nothing")\(why)",
                (key, expected, actual), stages, verdicts)
        }
        if isUnhandled {
            fail(
                expect.positions["rules"] ?? expect.position, place,
                "rules: they take it, but it was \(outcome); if that is right, expect this outcome too", nil, stages,
                verdicts)
        }
    }

    private mutating func fail(
        _ position: SourcePosition, _ place: (number: Int, position: SourcePosition)?, _ what: String,
        _ compared: (key: String, expected: DataValue, actual: DataValue?)? = nil, _ stages: [String] = [],
        _ verdicts: [RuleVerdict] = []
    ) {
        failures.append(
            RuleTestFailure(
                file: rules.file, position: position, test: test.name, step: place?.number,
                stepPosition: place?.position, row: row, key: compared?.key, expected: compared?.expected,
                actual: compared?.actual, what: what, stages: stages, rules: verdicts))
    }
}
