import Testing

@testable import KiiPush

/// A payload, and what it must be taken for: kind, certainty, evidence and conflicts, exactly.
struct Judged: Sendable, CustomTestStringConvertible {
    let payload: String
    let transport: Transport?
    let kind: PushKind
    let certainty: Certainty
    let evidence: [String]
    let conflicts: [String]

    var testDescription: String { "\(payload) over \(transport?.name ?? "any transport")" }

    /// Certain, or likely without evidence.
    init(_ payload: String, over transport: Transport? = nil, _ kind: PushKind, by evidence: [String]) {
        self.init(payload, over: transport, kind, by: evidence, despite: [])
    }

    /// Ambiguous, for the conflicts' names.
    init(
        _ payload: String, over transport: Transport? = nil, _ kind: PushKind, by evidence: [String],
        despite conflicts: [String]
    ) {
        self.payload = payload
        self.transport = transport
        self.kind = kind
        self.certainty = !conflicts.isEmpty ? .ambiguous : evidence.isEmpty ? .likely : .certain
        self.evidence = evidence
        self.conflicts = conflicts
    }

    func check(app: String? = nil) throws {
        let message = try PushMessage(json: payload, over: transport, app: app)
        let classification = message.classification
        #expect(classification.kind == kind)
        #expect(classification.certainty == certainty)
        #expect(classification.evidence == evidence)
        #expect(classification.conflicts.map(\.name) == conflicts)
        #expect(message.kind == kind && message.certainty == certainty)
        // The views agree with the kind, and each of the three is there for just one.
        #expect((PushToAppMessage(message) != nil) == (kind == .pushToApp))
        #expect((PushToUserMessage(message) != nil) == (kind == .pushToUser))
        #expect((DirectPushMessage(message) != nil) == (kind == .directPush))
    }
}
