/// The classification of a message: its kind, and the evidence for it.
public struct Classification: Sendable, Hashable {
    /// The kind; every message has one, ambiguous or not.
    public let kind: PushKind

    /// The certainty of the kind.
    public let certainty: Certainty

    /// The keys that are evidence for the kind, as in the payload, such as `bi` or `sourceURI`.
    ///
    /// Empty for a Direct Push that is one because nothing says otherwise, or that a format claims by its transport or
    /// its bytes; only the keys of the scope for a Push to User whose topic was left out.
    public let evidence: [String]

    /// The evidence against the kind; a message is ambiguous if and only if this is not empty.
    public let conflicts: [Conflict]
}

extension Classification: CustomStringConvertible {
    /// The kind, its certainty and why: `Push to User, certain: the payload has topic`.
    ///
    /// It contains keys of the payload, and no value.
    public var description: String {
        let details = conflicts.map { "; \($0.name): \($0.reason)" }.joined()
        return "\(kind), \(certainty.rawValue): \(reason)\(details)"
    }

    /// Why it is of this kind, in a few words.
    package var reason: String {
        let keys = evidence.joined(separator: ", ")
        return switch (certainty, evidence.isEmpty) {
        case (.certain, true): "a format claims it by its transport or its bytes"
        case (.certain, false): "the payload has \(keys)"
        case (.likely, true): "nothing in the payload says otherwise"
        case (.likely, false): "the payload has the scope of a topic (\(keys)), but names none"
        case (.ambiguous, true): "there is a contradiction"
        case (.ambiguous, false): "the payload has \(keys), but there is a contradiction"
        }
    }
}

/// One contradiction in a payload.
public struct Conflict: Sendable, Hashable {
    /// The field that contradicts, by its long key, such as `sourceURI`, also for payloads with short keys; `format` if
    /// several formats claim the payload.
    public let name: String

    /// The contradiction in words; never contains a value of the payload.
    public let reason: String
}

struct ConflictSet: OptionSet, Hashable {
    let rawValue: UInt16

    static let topicBesideBucket = ConflictSet(rawValue: 1 << 0)
    static let objectWithoutBucket = ConflictSet(rawValue: 1 << 1)
    static let modifiedAtWithoutBucket = ConflictSet(rawValue: 1 << 2)
    static let eventWithoutBucket = ConflictSet(rawValue: 1 << 3)
    static let explicitWithBucket = ConflictSet(rawValue: 1 << 4)
    static let sourceKind = ConflictSet(rawValue: 1 << 5)
    static let sourceScope = ConflictSet(rawValue: 1 << 6)
    static let sourceBucket = ConflictSet(rawValue: 1 << 7)
    static let sourceObject = ConflictSet(rawValue: 1 << 8)
    static let sourceTopic = ConflictSet(rawValue: 1 << 9)
    static let otherApp = ConflictSet(rawValue: 1 << 10)
    /// The scope of an owner beside evidence for a Direct Push, which has none; or a scope of an unknown type.
    static let scopeOnDirectPush = ConflictSet(rawValue: 1 << 11)

    static let ofSource: ConflictSet = [sourceKind, sourceScope, sourceBucket, sourceObject, sourceTopic]

    /// Each contradiction with the field that it is reported under and its text, in the order of reports.
    private static let explained: [(ConflictSet, KiiField, String)] = [
        (otherApp, .appID, "the payload names another app than this receiver's"),
        (eventWithoutBucket, .origin, "EVENT is said of a push without a bucket"),
        (explicitWithBucket, .origin, "EXPLICIT is said of a push about a bucket"),
        (topicBesideBucket, .topic, "a topic beside what makes a Push to App"),
        (objectWithoutBucket, .objectID, "an object on a Push to User"),
        (modifiedAtWithoutBucket, .objectModifiedAt, "an object's modification on a Push to User"),
        (sourceKind, .sourceURI, "the URI is that of another kind of push than the keys say"),
        (sourceScope, .sourceURI, "the URI has another scope than the keys"),
        (sourceBucket, .sourceURI, "the URI has another bucket than the keys"),
        (sourceObject, .sourceURI, "the URI has another object than the keys"),
        (sourceTopic, .sourceURI, "the URI has another topic than the keys"),
    ]

    private static let scopeFields: [KiiField] = [
        .scopeType, .scopeUserID, .scopeGroupID, .scopeThingID, .scopeAppID,
    ]

    /// The contradictions in words; a field with several appears once, with the first.
    func conflicts(in fields: FieldTable) -> [Conflict] {
        var conflicts: [Conflict] = []
        func add(_ field: KiiField, _ reason: String) {
            guard !conflicts.contains(where: { $0.name == field.longName }) else { return }
            conflicts.append(Conflict(name: field.longName, reason: reason))
        }
        for (disagreement, field, reason) in Self.explained where contains(disagreement) { add(field, reason) }
        if contains(.scopeOnDirectPush) {
            // One conflict, under the field that best identifies the scope.
            let field = Self.scopeFields.first { fields.present.contains($0) } ?? .scopeType
            add(field, "a scope on a push that names neither a bucket nor a topic")
        }
        for field in KiiField.allCases where fields.wrongTypes.contains(field) {
            add(field, field.isTime ? "this is no time in milliseconds" : "this is neither a string nor a number")
        }
        return conflicts
    }
}
