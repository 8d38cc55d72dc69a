/// The routes of a receiver, compiled so that a message meets only those that could take it.
///
/// Each route is filed under the rarest exact text it asks for: its bucket, object, topic, scope's id or sender. A
/// message looks up its own texts, and the routes found, with those that ask for no exact text, are tried in order of
/// declaration. So ten thousand routes for ten thousand buckets cost what ten do.
package final class RouteTable: Sendable {
    let routes: [Route]
    /// How often rules had been loaded when it was made.
    let generation: Int
    private let candidates: [RouteCandidate]
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
            if let rarest {
                for text in Set(rarest) { filed[text, default: []].append(Int32(number)) }
            } else {
                for kind in route.criteria.kinds.kinds {
                    unfiled[kind.tableIndex].append(Int32(number))
                }
            }
        }
        self.candidates = candidates
        index = TextIndex(filed, unfiled: unfiled)
    }

    /// The number of the route that takes a message, if it is the only one that could and a plain one; -1 says nothing.
    @inline(__always)
    func onlyMatch(_ storage: MessageStorage, _ text: Span<UInt8>) -> Int {
        guard !routes.isEmpty else { return -1 }
        var lists = index.candidates(text, storage)
        while let next = lists.popFirst(of: index.routeNumbers) {
            switch candidates[next].judge(text, storage) {
            case .no: break
            case .notSureEnough: return -1
            case .takes: return candidates[next].isLast && candidates[next].isPlain ? next : -1
            }
        }
        return -1
    }

    /// The routes that take a message, in order of declaration, up to the first that does not let the next ones try.
    func match(_ storage: MessageStorage) -> RouteMatch {
        var match = RouteMatch()
        guard !routes.isEmpty else { return match }
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
}

extension PushKind {
    /// The kind's place in a table.
    @inline(__always)
    var tableIndex: Int {
        switch self {
        case .pushToApp: 0
        case .pushToUser: 1
        case .directPush: 2
        }
    }
}
