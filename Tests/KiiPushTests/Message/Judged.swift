import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

/// A payload, and what it must be taken for: kind, certainty, evidence and conflicts, exactly.
struct Judged: Sendable, CustomTestStringConvertible {
    let payload: String
    let transport: Transport?
    let kind: PushKind
    let certainty: Certainty
    let evidence: [String]
    let conflicts: [String]

    var testDescription: String { "\(payload) over \(transport?.name ?? "any transport")" }

    /// Ambiguous, for the conflicts' names; else certain, but likely without evidence, or with that of a scope alone.
    init(
        _ payload: String, over transport: Transport? = nil, _ kind: PushKind, by evidence: [String],
        despite conflicts: [String] = []
    ) {
        (self.payload, self.transport, self.kind) = (payload, transport, kind)
        self.certainty =
            !conflicts.isEmpty ? .ambiguous : evidence.allSatisfy(Self.scopeKeys.contains) ? .likely : .certain
        self.evidence = evidence
        self.conflicts = conflicts
    }

    private static let scopeKeys: Set<String> = Set(
        [KiiField.scopeType, .scopeAppID, .scopeUserID, .scopeGroupID, .scopeThingID]
            .flatMap { [$0.shortName, $0.longName] })

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
