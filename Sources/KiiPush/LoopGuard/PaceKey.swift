/// The key by which a route's messages are paced, beside that of all new keys.
struct PaceKey {
    /// The object, else the topic and the sender, else the conversation.
    let own: ResourceKey
    /// Whether that is an object, whose newest change says all that older ones say.
    let isObject: Bool
    let limits: Pace.Limits

    /// The key of a message for a route.
    // Takes the parts of a routed message: a method of it would be called with a copy of the whole.
    init(_ message: PushMessage, at place: ResourceDigest?, for route: Route, _ secret: DedupeSecret) {
        let storage = message.storage
        let classified = storage.classified
        if classified.hasObject || classified.hasTopic && classified.senderKind != .none {
            // The deduplicator's digest, unless its secret differs, like that of a store which outlives the process.
            let known = place.flatMap { $0.secret == secret ? $0 : nil }
            if let digest = known ?? ResourceDigest(of: storage, secret) {
                self.init(digest.narrow.half, route, isObject: classified.hasObject)
                return
            }
        }
        let conversation = KeyedDigest(conversationOf: message, secret)
        self.init(conversation.half, route, isObject: false)
    }

    /// Half a digest of the resource and of the route is enough, and takes three rounds instead of eight.
    ///
    /// The second half of the key distinguishes the routes; within a route, the first half differs exactly if the
    /// digests do, and nobody can make two digests equal without the secret.
    private init(_ digest: UInt64, _ route: Route, isObject: Bool) {
        own = ResourceKey(digest: DedupeKey(first: digest ^ route.digest.first, second: route.digest.second))
        self.isObject = isObject
        limits = isObject ? route.objects : route.letters
    }
}

extension ResourceKey {
    /// All new keys of a route; the second half is one that a digest has only by a chance of one in 2^64.
    init(route digest: DedupeKey) {
        self.init(digest: DedupeKey(first: digest.first ^ digest.second, second: 0x726F_7574_6500_0001))
    }

    /// All new keys of a device's routes with the standard pace.
    static let device = ResourceKey(digest: DedupeKey(first: 0, second: 0x6465_7669_6365_0001))
}
