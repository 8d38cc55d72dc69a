/// The routes of a receiver, compiled so that a message is tested only against routes that could match it.
///
/// Each route is indexed by the rarest exact text that it requires: its bucket, object, topic, scope's id or sender. A
/// message looks up its own texts; the routes found, and those that require no exact text, are tried in order of
/// declaration. So ten thousand routes for ten thousand buckets cost as much as ten.
package final class RouteTable: Sendable {
    let routes: [Route]
    /// How many times rules had been loaded when it was made.
    let generation: Int
    private let candidates: [Candidate]
    private let index: TextIndex

    init(_ routes: [Route], generation: Int = 0) {
        self.routes = routes
        self.generation = generation
        var uses: [FiledText: Int] = [:]
        for route in routes {
            for texts in FiledText.all(of: route.criteria) {
                for text in texts { uses[text, default: 0] += 1 }
            }
        }
        var filed: [FiledText: [Int32]] = [:]
        // One list for each kind, and the last one for gaps.
        var unfiled = [[Int32]](repeating: [], count: PushKind.allCases.count + 1)
        var candidates: [Candidate] = []
        candidates.reserveCapacity(routes.count)
        for (number, route) in routes.enumerated() {
            func commonest(_ texts: [FiledText]) -> Int { texts.map { uses[$0] ?? 0 }.max() ?? 0 }
            let choices = FiledText.all(of: route.criteria)
            let rarest = choices.min { commonest($0) < commonest($1) }
            candidates.append(Candidate(route, filedUnder: rarest?.first?.field))
            if route.criteria.isGap {
                unfiled[PushKind.allCases.count].append(Int32(number))
            } else if let rarest {
                for text in Set(rarest) { filed[text, default: []].append(Int32(number)) }
            } else {
                for kind in route.criteria.possibleKinds.kinds { unfiled[kind.tableIndex].append(Int32(number)) }
            }
        }
        self.candidates = candidates
        index = TextIndex(filed, unfiled: unfiled)
    }

    /// The routes that match a message, in order of declaration, up to the first that stops later ones.
    func match(_ storage: MessageStorage) -> RouteMatch {
        var match = RouteMatch()
        guard !routes.isEmpty else { return match }
        let buffer = storage.buffer
        let text = buffer.span
        var lists = index.candidates(text, storage)
        while let next = lists.popFirst(of: index.routeNumbers) {
            guard candidates[next].matchesContent(text, storage) else { continue }
            guard candidates[next].accepts(storage.certainty) else {
                if storage.certainty == .ambiguous { match.isTooAmbiguous = true }
                continue
            }
            match.routes.append(routes[next])
            if candidates[next].isLast { break }
        }
        return match
    }
}

/// A route as its table tries it: only the conditions that its index entry has not proved yet.
///
/// Most routes are indexed by the one text that they require, so that only the kind is left to test. Stored by value,
/// so that a route which does not match costs no reference count.
private struct Candidate {
    private let kinds: KindSet
    private let handles: HandleSet
    private let certainties: UInt8
    /// Whether no later route is tried once it has matched.
    let isLast: Bool
    /// The conditions that are left: no element, or one; an array, so that a candidate without them is small.
    private let rest: [RouteCriteria]

    /// Compiles a route that is indexed by exact texts of `field`, or by none.
    init(_ route: Route, filedUnder field: FiledText.Field?) {
        var rest = route.criteria
        var handles: HandleSet = []
        kinds = rest.kinds
        isLast = route.options.flow == .stop
        certainties = rest.certainty.reduce(0) { $0 | $1.bit }
        switch field {
        case .bucket: (rest.bucket, handles) = (nil, .bucket)
        case .object: (rest.object, handles) = (nil, .object)
        case .topic: (rest.topic, handles) = (nil, .topic)
        // The id alone does not prove the type of its owner.
        case .scopeID, .sender, nil: break
        }
        self.handles = handles
        (rest.kinds, rest.certainty, rest.isGap) = (.all, [], false)
        self.rest = rest == RouteCriteria(certainty: []) ? [] : [rest]
    }

    func accepts(_ certainty: Certainty) -> Bool { certainties & certainty.bit != 0 }

    /// Whether all but the certainty holds for a message that has the texts by which the route is indexed.
    func matchesContent(_ text: Span<UInt8>, _ storage: MessageStorage) -> Bool {
        guard kinds.contains(KindSet(storage.classified.kind)), storage.classified.handles.isSuperset(of: handles)
        else { return false }
        return rest.isEmpty || rest[0].matchesContent(text, storage)
    }
}

extension Certainty {
    fileprivate var bit: UInt8 {
        switch self {
        case .certain: 1
        case .likely: 2
        case .ambiguous: 4
        }
    }
}
