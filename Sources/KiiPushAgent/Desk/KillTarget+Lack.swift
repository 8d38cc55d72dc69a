import KiiPush

extension KillTarget {
    /// Why the target matches nothing among these routes, with what there is; nil if it matches something.
    func lack(of routes: [(id: String, criteria: RouteCriteria)]) -> String? {
        switch self {
        case .route(let id):
            if routes.contains(where: { $0.id.isExactly(id) }) { return nil }
            let unknown = Suggestion.unknown("route", id, known: routes.map(\.id))
            guard routes.contains(where: { $0.criteria.bucket?.matches(id) == true }) else { return unknown }
            return "\(unknown); a bucket is named by its URI, such as \(KiiBucket(scope: .app, name: id).uri)"
        case .bucket(let uri):
            guard let bucket = uri.bucket, !routes.contains(where: { $0.criteria.mayTake(bucket) }) else { return nil }
            let ids = Suggestion.listed(routes.map(\.id))
            return "no route takes events of the bucket \(Suggestion.shown(uri.description)); routes: \(ids)"
        case .everything: return nil
        }
    }
}
