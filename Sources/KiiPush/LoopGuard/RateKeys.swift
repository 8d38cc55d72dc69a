/// The keys by which the breakers of a route count a message; the device's is always the same.
package struct RateKeys: Equatable {
    /// Per object, else per topic and sender, else per conversation: see ``ConversationDigest``.
    let narrow: ResourceKey
    /// Per bucket or topic, else per source of the conversation.
    let wide: ResourceKey?
    /// Per route.
    let route: ResourceKey

    /// Whether a breaker counts messages with these keys.
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
    // Takes the parts of a routed message: a method of it would be called with a copy of the whole.
    @inline(__always)
    init(_ message: PushMessage, at place: ResourceDigest?, for route: Route, _ secret: DedupeSecret) {
        let storage = message.storage
        let classified = storage.classified
        if classified.hasObject || classified.hasTopic && classified.senderKind != .none {
            // The deduplicator's digest, unless its secret differs, like that of a store which outlives the process.
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

    // Not inlined, like its callee.
    @inline(never)
    private init(conversationOf message: PushMessage, _ route: Route, _ secret: DedupeSecret) {
        let conversation = ConversationDigest(of: message, at: ResourceDigest(of: message.storage, secret), secret)
        self.init(
            narrow: ResourceKey(conversation.narrow, route), wide: ResourceKey(conversation.wide, route),
            route: ResourceKey(route))
    }
}

extension ResourceKey {
    /// The key of a resource or a sender for one route.
    ///
    /// Half a digest of each is enough, and takes three rounds instead of eight. The second half of the key
    /// distinguishes the routes; within a route, the first half differs exactly if the digests do, and nobody can make
    /// two digests equal without the secret.
    fileprivate init(_ place: UInt64, _ route: Route) {
        digest = DedupeKey(first: place ^ route.digest.first, second: route.digest.second)
    }
}

extension ResourceKey {
    // Halves that a digest has only by a chance of one in 2^64, so that a key shows its level.
    private static let ofRoute: UInt64 = 0x726F_7574_6500_0001
    private static let ofDevice: UInt64 = 0x6465_7669_6365_0001

    /// All messages of a device.
    static let device = ResourceKey(digest: DedupeKey(first: 0, second: ofDevice))

    /// All messages of a route.
    init(_ route: Route) {
        digest = DedupeKey(first: route.digest.first ^ route.digest.second, second: Self.ofRoute)
    }

    /// The level of a route's or the device's key; nil for any other.
    var broadLevel: BreakerLevel? {
        switch digest.second {
        case Self.ofRoute: .route
        case Self.ofDevice: .device
        default: nil
        }
    }
}

extension AdmissionBypass {
    /// Whether it bypasses a breaker with one of these keys.
    func isFrom(_ keys: RateKeys) -> Bool {
        switch self {
        case .none, .seen: false
        case .breaker(let breaker): keys.has(breaker)
        case .all: true
        }
    }
}
