/// A route as its table tries it: only what the place where it is filed has not proved yet.
///
/// Most routes are filed under the one text that they ask for, so that nothing but the kind is left to judge. Held by
/// value, so that a route which does not match costs no reference count.
struct RouteCandidate {
    private let kinds: KindSet
    private let handles: HandleSet
    private let certainty: CertaintySet
    /// The conditions that are left: none, or one set of them.
    ///
    /// An array, so that a candidate without is a few bytes, and is not copied as a hundred.
    private let rest: [RouteCriteria]
    /// Whether the routes behind it may take the same message.
    let isLast: Bool
    /// Whether its messages have their automatic keys, and any age.
    let isPlain: Bool

    /// Compiles a route that is filed under exact texts of `field`, or under none.
    init(_ route: Route, filedUnder field: FiledText.Field?) {
        var rest = route.criteria
        var handles: HandleSet = []
        kinds = rest.kinds
        certainty = CertaintySet(rest.certainty)
        isLast = route.flow == .stop
        isPlain = route.dedupe == nil && route.maxAge == nil
        switch field {
        case .bucket: (rest.bucket, handles) = (nil, .bucket)
        case .object: (rest.object, handles) = (nil, .object)
        case .topic: (rest.topic, handles) = (nil, .topic)
        // The id alone does not prove whose it is.
        case .scopeID, .sender, nil: break
        }
        self.handles = handles
        (rest.kinds, rest.certainty) = (.all, [])
        self.rest = rest == RouteCriteria(certainty: []) ? [] : [rest]
    }

    /// What the route says to a message.
    enum Answer {
        case takes
        /// Everything holds but the certainty.
        case notSureEnough
        case no
    }

    /// Judges a message that has the texts under which the route is filed.
    @inline(__always)
    func judge(_ text: Span<UInt8>, _ storage: MessageStorage) -> Answer {
        guard kinds.contains(KindSet(storage.classified.kind)), storage.classified.handles.isSuperset(of: handles)
        else {
            return .no
        }
        if !rest.isEmpty, !matchesRest(text, storage) { return .no }
        return certainty.contains(CertaintySet(storage.certainty)) ? .takes : .notSureEnough
    }

    // Out of line, or what it needs would be set up for each candidate.
    @inline(never)
    private func matchesRest(_ text: Span<UInt8>, _ storage: MessageStorage) -> Bool {
        rest[0].matchesContent(text, storage)
    }
}

/// Some of the three certainties.
struct CertaintySet: OptionSet {
    let rawValue: UInt8

    init(rawValue: UInt8) { self.rawValue = rawValue }

    init(_ certainty: Certainty) {
        rawValue =
            switch certainty {
            case .certain: 1
            case .likely: 2
            case .ambiguous: 4
            }
    }

    init(_ certainties: [Certainty]) { self = certainties.reduce(into: []) { $0.formUnion(CertaintySet($1)) } }
}
