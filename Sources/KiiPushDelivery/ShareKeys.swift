import KiiPush

/// The keys by which messages share a service's capacity: lane, group and route.
struct ShareKeys: Sendable, Hashable {
    let lane: LaneKey
    /// The bucket or topic in its scope; the sender of a message that has neither, or else the route.
    let group: ResourceKey
    /// The first route that matches it.
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
    /// For messages that no route matches.
    fileprivate static let unrouted = ResourceKey(digest: DedupeKey(first: 0, second: 0))
}
