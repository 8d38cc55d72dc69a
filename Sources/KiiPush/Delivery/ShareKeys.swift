/// With whom a message shares what a service has: the messages of its lane, of its group and of its route.
struct ShareKeys: Sendable, Hashable {
    let lane: LaneKey
    /// The bucket or topic in its scope; the sender of a message that has neither, or else the route.
    let group: PlaceKey
    /// The first route that takes it.
    let route: PlaceKey
}

extension ShareKeys {
    init(_ message: RoutedMessage, lane: LaneKey) {
        self.lane = lane
        route = message.routes.first.map { PlaceKey(digest: $0.digest) } ?? .unrouted
        group = PlaceKey(groupOf: message.message) ?? route
    }
}

extension PlaceKey {
    /// For messages that no route takes.
    fileprivate static let unrouted = PlaceKey(digest: DedupeKey(first: 0, second: 0))

    /// The bucket or topic of a message, or else its sender; nil when it has none of them.
    ///
    /// It is the same in every process: dead letters keep it.
    init?(groupOf message: PushMessage) {
        if let place = PlaceDigest(of: message.storage, .published) {
            self.init(digest: place.wide.finish())
        } else {
            self.init(.sender, of: message)
        }
    }
}

extension PushMessage {
    /// The bucket or topic of a message, or else its sender, as a digest; for logs, which must not name them.
    package var groupDigest: DedupeKey? { PlaceKey(groupOf: self)?.digest }
}
