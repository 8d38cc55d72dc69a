/// A pattern for scopes: the app, a user, a group, a thing, or any of several patterns.
///
/// `.app`, `.user("U1")`, `.group("*")`, `[.app, .thing("th.1")]`. The id is a ``TextPattern``; a scope whose id is
/// missing matches only a pattern with `nil` for the id.
public struct ScopePattern: Sendable, Hashable, ExpressibleByArrayLiteral {
    package struct Alternative: Sendable, Hashable {
        package let kind: MessageScope.Kind
        package let id: TextPattern?

        package init(kind: MessageScope.Kind, id: TextPattern?) {
            self.kind = kind
            self.id = id
        }
    }

    package let alternatives: [Alternative]

    private init(_ kind: MessageScope.Kind, _ id: TextPattern?) {
        self.init([Alternative(kind: kind, id: id)])
    }

    package init(_ alternatives: [Alternative]) { self.alternatives = alternatives }

    /// Any of several patterns.
    public init(arrayLiteral patterns: ScopePattern...) { self.init(patterns.flatMap(\.alternatives)) }

    /// The app's own scope.
    public static let app = ScopePattern(.app, nil)
    /// A user's scope.
    public static func user(_ id: TextPattern? = .any) -> ScopePattern { ScopePattern(.user, id) }
    /// A group's scope.
    public static func group(_ id: TextPattern? = .any) -> ScopePattern { ScopePattern(.group, id) }
    /// A thing's scope.
    public static func thing(_ id: TextPattern? = .any) -> ScopePattern { ScopePattern(.thing, id) }

    /// Whether a message states such a scope; an unknown type matches only a pattern that accepts any.
    package func matches(_ text: Span<UInt8>, _ storage: MessageStorage) -> Bool {
        let (kind, id) = (storage.classified.scopeKind, storage.classified.scopeID)
        if kind == .unknown, !storage.fields[.scopeType].isPresent { return false }
        // By index: a loop over the values would copy each pattern first.
        for index in alternatives.indices where alternatives[index].kind == kind {
            guard let wanted = alternatives[index].id else { return true }
            if id.isPresent, wanted.matches(text, id.range) { return true }
        }
        return false
    }

    package func matches(_ scope: KiiScope) -> Bool {
        alternatives.contains { alternative in
            guard alternative.kind == scope.kind else { return false }
            return alternative.id.map { id in scope.id.map { id.matches($0) } ?? false } ?? true
        }
    }

    /// The ids of a pattern that names only single owners, for the index.
    package var exactIDs: [String]? { TextPattern.exactTexts(of: alternatives.map(\.id)) }
}

/// A pattern for senders: a user, a thing, an administrator, or any of several patterns.
public struct SenderPattern: Sendable, Hashable, ExpressibleByArrayLiteral {
    package struct Alternative: Sendable, Hashable {
        package let kind: Classified.SenderKind
        package let id: TextPattern

        package init(kind: Classified.SenderKind, id: TextPattern) {
            self.kind = kind
            self.id = id
        }
    }

    package let alternatives: [Alternative]

    private init(_ kind: Classified.SenderKind, _ id: TextPattern) {
        self.init([Alternative(kind: kind, id: id)])
    }

    package init(_ alternatives: [Alternative]) { self.alternatives = alternatives }

    /// Any of several patterns.
    public init(arrayLiteral patterns: SenderPattern...) { self.init(patterns.flatMap(\.alternatives)) }

    /// A user.
    public static func user(_ id: TextPattern = .any) -> SenderPattern { SenderPattern(.user, id) }
    /// A thing.
    public static func thing(_ id: TextPattern = .any) -> SenderPattern { SenderPattern(.thing, id) }
    /// An administrator of the app.
    public static func admin(_ name: TextPattern = .any) -> SenderPattern { SenderPattern(.admin, name) }

    package func matches(_ text: Span<UInt8>, _ classified: Classified) -> Bool {
        for index in alternatives.indices where alternatives[index].kind == classified.senderKind {
            if alternatives[index].id.matches(text, classified.sender.range) { return true }
        }
        return false
    }

    /// The ids of a pattern that names only single senders, for the index.
    package var exactIDs: [String]? { TextPattern.exactTexts(of: alternatives.map(\.id)) }
}
