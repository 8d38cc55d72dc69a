/// A route as its table tries it: only the conditions that its index entry has not proved yet.
///
/// Most routes are indexed by the one text that they require, so that only the kind is left to test. Stored by value,
/// so that a route which does not match costs no reference count.
struct RouteCandidate {
    private let kinds: KindSet
    private let handles: HandleSet
    private let certainty: CertaintySet
    /// The conditions that are left: no element, or one.
    ///
    /// An array, so that a candidate without them is a few bytes instead of a hundred.
    private let rest: [RouteCriteria]
    /// Whether no later route may match the same message.
    let isLast: Bool

    /// Compiles a route that is indexed by exact texts of `field`, or by none.
    init(_ route: Route, filedUnder field: FiledText.Field?) {
        var rest = route.criteria
        var handles: HandleSet = []
        kinds = rest.kinds
        certainty = CertaintySet(rest.certainty)
        isLast = route.options.flow == .stop
        switch field {
        case .bucket: (rest.bucket, handles) = (nil, .bucket)
        case .object: (rest.object, handles) = (nil, .object)
        case .topic: (rest.topic, handles) = (nil, .topic)
        // The id alone does not prove the type of its owner.
        case .scopeID, .sender, nil: break
        }
        self.handles = handles
        (rest.kinds, rest.certainty) = (.all, [])
        self.rest = rest == RouteCriteria(certainty: []) ? [] : [rest]
    }

    /// Whether the route matches a message.
    enum Answer {
        case takes
        /// Every condition holds but the certainty.
        case notSureEnough
        case no
    }

    /// Tests a message that has the texts by which the route is indexed.
    func judge(_ text: Span<UInt8>, _ storage: MessageStorage) -> Answer {
        guard kinds.contains(KindSet(storage.classified.kind)), storage.classified.handles.isSuperset(of: handles)
        else {
            return .no
        }
        if !rest.isEmpty, !matchesRest(text, storage) { return .no }
        return certainty.contains(CertaintySet(storage.certainty)) ? .takes : .notSureEnough
    }

    private func matchesRest(_ text: Span<UInt8>, _ storage: MessageStorage) -> Bool {
        rest[0].matchesContent(text, storage)
    }
}

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
