/// The keys under which a route counts a message that it lets pass; the device's is always the same.
package struct RateKeys: Equatable {
    /// Per object, else per topic and sender, else per conversation: see ``ConversationDigest``.
    let narrow: ResourceKey
    /// Per bucket or topic, else per source of the conversation.
    let wide: ResourceKey?
    /// Per route.
    let route: ResourceKey

    /// Whether a breaker counts what has these keys.
    func has(_ breaker: BreakerID) -> Bool {
        switch breaker.level {
        case .object: breaker.key == narrow
        case .bucket: breaker.key == wide
        case .route: breaker.key == route
        case .device: true
        }
    }
}

extension RateKeys {
    /// The keys under which a message counts for a route.
    // Made of its parts: a method of the message would be called with a copy of all of it.
    @inline(__always)
    init(_ message: PushMessage, at place: ResourceDigest?, for route: Route, _ secret: DedupeSecret) {
        let storage = message.storage
        let classified = storage.classified
        if classified.hasObject || classified.hasTopic && classified.senderKind != .none {
            // The deduplicator's, unless its secret is another one, as that of a store which outlives the process.
            if let place, place.secret == secret {
                self.init(place, route)
                return
            }
            if let place = ResourceDigest(of: storage, secret) {
                self.init(place, route)
                return
            }
        }
        self.init(conversationOf: message, route, secret)
    }

    /// The keys of a message with an object, or with a topic and a sender.
    @inline(__always)
    init(_ place: ResourceDigest, _ route: Route) {
        self.init(
            narrow: ResourceKey(place.narrow.half, route), wide: ResourceKey(place.wide.half, route),
            route: ResourceKey(route))
    }

    // Never inlined, as what it calls.
    @inline(never)
    private init(conversationOf message: PushMessage, _ route: Route, _ secret: DedupeSecret) {
        let conversation = ConversationDigest(of: message, at: ResourceDigest(of: message.storage, secret), secret)
        self.init(
            narrow: ResourceKey(conversation.narrow, route), wide: ResourceKey(conversation.wide, route),
            route: ResourceKey(route))
    }
}

extension ResourceKey {
    /// A place or a sender, for one route alone.
    ///
    /// Half a digest of each is enough, and takes three rounds in place of eight. The second half of the key tells the
    /// routes apart; of one route the first half differs just where the places' digests do, and nobody who does not
    /// know the secret can make two of those equal.
    fileprivate init(_ place: UInt64, _ route: Route) {
        digest = DedupeKey(first: place ^ route.digest.first, second: route.digest.second)
    }
}

extension ResourceKey {
    // Halves that no digest has but by a chance of one in 2^64, so that a stored key tells what it is of.
    private static let ofRoute: UInt64 = 0x726F_7574_6500_0001
    private static let ofDevice: UInt64 = 0x6465_7669_6365_0001

    /// All messages of a device.
    static let device = ResourceKey(digest: DedupeKey(first: 0, second: ofDevice))

    /// All messages of a route.
    init(_ route: Route) {
        digest = DedupeKey(first: route.digest.first ^ route.digest.second, second: Self.ofRoute)
    }

    /// Whether it is a route's or the device's; nil for any other.
    var broadLevel: BreakerLevel? {
        switch digest.second {
        case Self.ofRoute: .route
        case Self.ofDevice: .device
        default: nil
        }
    }
}

extension AdmissionBypass {
    /// Whether the breaker that a message was held by lets it pass.
    func isFrom(_ keys: RateKeys) -> Bool {
        switch self {
        case .none, .seen: false
        case .breaker(let breaker): keys.has(breaker)
        case .all: true
        }
    }
}
