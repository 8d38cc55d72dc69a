import KiiPush

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
    init(
        _ rules: RoutingRules, _ test: RuleTest, row: Int?, routesOf compiled: PushReceiver, coverage: RuleCoverage?
    ) {
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
        let place = StepPlace(number: number, position: step.position)
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

    private mutating func compare(_ receipt: ReceiverHarness.Ended, _ expect: RuleExpectation, _ place: StepPlace) {
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
        guard !wrong.isEmpty else { return }
        // Only once for a failing step: this evaluates each condition of each rule again.
        let verdicts = message.map { RuleVerdict.all($0, rules.rules) } ?? []
        let stages = receipt.trace.stages.map { "\($0.name): \($0.verdict)" }
        for (key, expected, actual) in wrong {
            guard let expected else { continue }
            failures.append(
                RuleTestFailure(
                    file: rules.file, position: expect.positions[key] ?? expect.position, test: test.name,
                    step: place.number, stepPosition: place.position, row: row, key: key, expected: expected,
                    actual: actual,
                    what: "\(key): expected \(expected.jsonText), found \(actual?.jsonText ?? "nothing")"
                        + unknownName(key, expect),
                    stages: stages, rules: verdicts))
        }
    }

    /// The text about a name that no rule has, since no run can ever produce it.
    private func unknownName(_ key: String, _ expect: RuleExpectation) -> String {
        guard key == "rules" || key == "handlers" else { return "" }
        let known = RuleNames(rules.rules, isComplete: true)
        let isOfRules = key == "rules"
        let unknown = (isOfRules ? expect.rules : expect.handlers)?.first { name in
            isOfRules ? !known.hasRule(name) : !known.hasHandler(name)
        }
        return unknown.map { name in
            let what = isOfRules ? "rule" : "handler"
            return "; " + Suggestion.unknown(what, name, known: isOfRules ? known.rules : known.handlers)
        } ?? ""
    }

    private mutating func fail(_ position: SourcePosition, _ place: StepPlace?, _ what: String) {
        failures.append(
            RuleTestFailure(
                file: rules.file, position: position, test: test.name, step: place?.number,
                stepPosition: place?.position, row: row, key: nil, expected: nil, actual: nil, what: what, stages: [],
                rules: []))
    }
}

private struct StepPlace {
    let number: Int
    let position: SourcePosition
}
