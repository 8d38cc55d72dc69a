/// The routes of a receiver, compiled so that a message meets only those that could take it.
///
/// Each route is filed under the rarest exact text it asks for: its bucket, object, topic, scope's id or sender. A
/// message looks up its own texts, and the routes found, with those that ask for no exact text, are tried in order of
/// declaration. So ten thousand routes for ten thousand buckets cost what ten do.
final class RouteTable: Sendable {
    let routes: [Route]
    /// How often rules had been loaded when it was made.
    let generation: Int
    private let index: TextIndex
    /// Routes that ask for no exact text, by kind.
    private let unfiled: [[Int32]]

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
        for (number, route) in routes.enumerated() {
            func commonest(_ texts: [FiledText]) -> Int { texts.map { uses[$0] ?? 0 }.max() ?? 0 }
            let choices = FiledText.all(of: route.criteria)
            if let rarest = choices.min(by: { commonest($0) < commonest($1) }) {
                for text in Set(rarest) { filed[text, default: []].append(Int32(number)) }
            } else {
                for kind in route.criteria.kinds.kinds {
                    unfiled[kind.tableIndex].append(Int32(number))
                }
            }
        }
        index = TextIndex(filed)
        self.unfiled = unfiled
    }

    /// The routes that take a message, in order of declaration, up to the first that does not let the next ones try.
    func match(_ storage: MessageStorage) -> RouteMatch {
        var match = RouteMatch()
        guard !routes.isEmpty else { return match }
        let buffer = storage.buffer
        let text = buffer.span
        let certainty = storage.certainty
        let kind = storage.reading.kind.tableIndex
        var looseCursor = 0
        var cursors = index.postings(text, storage)

        while true {
            var next = looseCursor < unfiled[kind].count ? unfiled[kind][looseCursor] : Int32.max
            var from = -1
            for number in 0..<FiledText.Field.count where !cursors.span[number].isEmpty {
                let candidate = index.routeNumbers[cursors.span[number].lowerBound]
                if candidate < next { (next, from) = (candidate, number) }
            }
            guard next != .max else { return match }
            if from < 0 { looseCursor += 1 } else { cursors[from] = cursors.span[from].dropFirst() }

            let route = routes[Int(next)]
            guard route.criteria.matchesContent(text, storage) else { continue }
            guard route.criteria.certainty.contains(certainty) else {
                match.isTooAmbiguous = match.isTooAmbiguous || certainty == .ambiguous
                continue
            }
            match.routes.append(route)
            if route.flow == .stop { return match }
        }
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
