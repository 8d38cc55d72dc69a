extension PaceKey {
    /// The key of a message for a route: its object, else the topic and the sender, else the conversation.
    // Takes the parts of a routed message: a method of it would be called with a copy of the whole.
    init(_ message: PushMessage, at place: ResourceDigest?, for route: Route) {
        let storage = message.storage
        let classified = storage.classified
        if classified.hasObject || classified.hasTopic && classified.senderKind != .none {
            // The deduplicator's digest, unless its secret differs, like that of a store which outlives the process.
            let known = place.flatMap { $0.secret == .ofProcess ? $0 : nil }
            if let digest = known ?? ResourceDigest(of: storage, .ofProcess) {
                self.init(digest.narrow.half, route, classified.hasObject ? .object : .letters)
                return
            }
        }
        self.init(KeyedDigest(conversationOf: message, .ofProcess).half, route, .letters)
    }

    /// Half a digest of the resource and of the route is enough, and takes three rounds instead of eight.
    ///
    /// The second half of the key distinguishes the routes; within a route, the first half differs exactly if the
    /// digests do, and nobody can make two digests equal without the secret.
    private init(_ digest: UInt64, _ route: Route, _ level: PacedKey.Level) {
        let key = DedupeKey(first: digest ^ route.digest.first, second: route.digest.second)
        self.init(ResourceKey(digest: key), level, level == .object ? route.objects : route.letters)
    }
}
