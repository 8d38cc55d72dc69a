import KiiPush

/// Reads a corpus of captured payloads, one a line, each written as a step of a test.
///
/// `{"at": "2s", "transport": "mqtt", "payload": {…}}`, or `raw` with the bytes as a string. Pass the lines one by one;
/// only the time of the last one is kept.
package struct RuleCorpus: Sendable {
    package let file: String
    private var now = Duration.zero

    package init(file: String) { self.file = file }

    /// Reads one line, without its end; the step's `at` is never before that of the previous line.
    ///
    /// - Throws: ``RulesError`` with every problem of the line; later lines can still be read.
    package mutating func step(_ line: [UInt8], number: Int) throws(RulesError) -> RuleTestStep {
        let source = RulesSource(line, file: file, firstLine: number)
        let root = try source.root()
        var reader = RulesReader(source)
        var time = now
        let step = reader.step(root, &time, RuleNames([], isComplete: false))
        let isMessage = if case .receive(let incoming)? = step?.action { incoming.transport != .gap } else { false }
        // Most lines are messages, and are read only once.
        if reader.error != nil || !isMessage { try refuse(root, source) }
        now = time
        if reader.error == nil, let step, case .receive = step.action { return step }
        throw reader.error ?? noMessage(source.position(of: 0))
    }

    /// Throws for a bare payload, an object without a key of a step, not even a mistyped one; and for a gap.
    private func refuse(_ root: PlacedValue, _ source: RulesSource) throws(RulesError) {
        // What this reader finds wrong, the next one reports.
        var reader = RulesReader(source)
        guard let object = reader.object(root, "a step"), !object.members.isEmpty else { return }
        if let gap = object.member("gap") { throw noMessage(reader.position(gap.keyOffset)) }
        let hasKeys = object.members.contains { member in
            RulesReader.stepKeys.containsExactly(member.key)
                || Suggestion.of(member.key, among: ["payload", "transport", "expect"]) != nil
        }
        guard hasKeys else {
            throw RulesError(
                file, source.position(of: 0), "this looks like a payload, not a step; wrap it: {\"payload\": …}")
        }
    }

    private func noMessage(_ position: SourcePosition) -> RulesError {
        RulesError(file, position, "expected 'payload' or 'raw': a corpus contains incoming messages only")
    }
}
