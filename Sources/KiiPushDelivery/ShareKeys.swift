import KiiPush

/// With whom a message shares what a service has: the messages of its lane, of its group and of its route.
struct ShareKeys: Sendable, Hashable {
    let lane: LaneKey
    /// The bucket or topic in its scope; the sender of a message that has neither, or else the route.
    let group: ResourceKey
    /// The first route that takes it.
    let route: ResourceKey
}

extension ShareKeys {
    init(_ message: RoutedMessage, lane: LaneKey) {
        self.lane = lane
        route = message.routes.first.map { ResourceKey(digest: $0.digest) } ?? .unrouted
        group = ResourceKey(groupOf: message.message) ?? route
    }
}

extension ResourceKey {
    /// For messages that no route takes.
    fileprivate static let unrouted = ResourceKey(digest: DedupeKey(first: 0, second: 0))
}
