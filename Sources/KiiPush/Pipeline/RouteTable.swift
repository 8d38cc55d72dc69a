/// The routes of a receiver, compiled so that a message is tested only against routes that could match it.
///
/// Each route is indexed by the rarest exact text that it requires: its bucket, object, topic, scope's id or sender. A
/// message looks up its own texts; the routes found, and those that require no exact text, are tried in order of
/// declaration. So ten thousand routes for ten thousand buckets cost as much as ten.
package final class RouteTable: Sendable {
    let routes: [Route]
    /// How many times rules had been loaded when it was made.
    let generation: Int
    private let candidates: [RouteCandidate]
    /// The routes for gaps, in order; they match nothing else.
    private let gaps: [Route]
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
        var unfiled = [[Int32]](repeating: [], count: PushKind.allCases.count)
        var candidates: [RouteCandidate] = []
        candidates.reserveCapacity(routes.count)
        for (number, route) in routes.enumerated() {
            func commonest(_ texts: [FiledText]) -> Int { texts.map { uses[$0] ?? 0 }.max() ?? 0 }
            let choices = FiledText.all(of: route.criteria)
            let rarest = choices.min { commonest($0) < commonest($1) }
            candidates.append(RouteCandidate(route, filedUnder: rarest?.first?.field))
            if route.criteria.isGap { continue }
            if let rarest {
                for text in Set(rarest) { filed[text, default: []].append(Int32(number)) }
            } else {
                for kind in route.criteria.possibleKinds.kinds { unfiled[kind.tableIndex].append(Int32(number)) }
            }
        }
        self.candidates = candidates
        gaps = routes.filter(\.criteria.isGap)
        index = TextIndex(filed, unfiled: unfiled)
    }

    /// The routes that match a message, in order of declaration, up to the first that stops later ones.
    func match(_ storage: MessageStorage) -> RouteMatch {
        var match = RouteMatch()
        guard !routes.isEmpty else { return match }
        if storage.isGap { return matchGap(storage) }
        let buffer = storage.buffer
        let text = buffer.span
        var lists = index.candidates(text, storage)
        while let next = lists.popFirst(of: index.routeNumbers) {
            switch candidates[next].judge(text, storage) {
            case .no: break
            case .notSureEnough: if storage.certainty == .ambiguous { match.isTooAmbiguous = true }
            case .takes:
                match.routes.append(routes[next])
                if candidates[next].isLast { return match }
            }
        }
        return match
    }

    private func matchGap(_ storage: MessageStorage) -> RouteMatch {
        var match = RouteMatch()
        let buffer = storage.buffer
        for route in gaps where route.criteria.matchesContent(buffer.span, storage) {
            match.routes.append(route)
            if route.options.flow == .stop { break }
        }
        return match
    }
}
