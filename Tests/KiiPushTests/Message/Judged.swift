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
        _ payload: String, over transport: Transport? = nil, _ kind: PushKind, by evidence: String,
        despite conflicts: String
    ) {
        (self.payload, self.transport, self.kind) = (payload, transport, kind)
        self.evidence = evidence.split(separator: " ").map(String.init)
        self.conflicts = conflicts.split(separator: " ").map(String.init)
        certainty =
            !conflicts.isEmpty ? .ambiguous : self.evidence.allSatisfy(Self.scopeKeys.contains) ? .likely : .certain
    }

    /// A Push to App, by keys with a space between each two.
    static func app(
        _ payload: String, over transport: Transport? = nil, by evidence: String, despite conflicts: String = ""
    ) -> Judged { Judged(payload, over: transport, .pushToApp, by: evidence, despite: conflicts) }

    /// A Push to User.
    static func user(
        _ payload: String, over transport: Transport? = nil, by evidence: String, despite conflicts: String = ""
    ) -> Judged { Judged(payload, over: transport, .pushToUser, by: evidence, despite: conflicts) }

    /// A Direct Push.
    static func direct(
        _ payload: String, over transport: Transport? = nil, by evidence: String = "", despite conflicts: String = ""
    ) -> Judged { Judged(payload, over: transport, .directPush, by: evidence, despite: conflicts) }

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
