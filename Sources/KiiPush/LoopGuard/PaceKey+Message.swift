extension RoutedMessage {
    /// The key of its pace, and the route whose limits it has, the slowest; nil if no pace limits any of its routes.
    var paceKey: (key: PaceKey, route: Route)? {
        routes.slowest.map { (PaceKey(message, at: place, for: routes, slowest: $0), $0) }
    }
}

extension PaceKey {
    /// The key of a message for its routes: its object, else the topic and the sender, else the conversation; with the
    /// limits of the slowest route.
    init(_ message: PushMessage, at place: ResourceDigest?, for routes: MatchedRoutes, slowest: Route) {
        let storage = message.storage
        let classified = storage.classified
        let routes = routes.digest
        if classified.hasObject || classified.hasTopic && classified.senderKind != .none {
            // The deduplicator's digest, unless its secret differs, like that of a store which outlives the process.
            let digest = place?.secret == .ofProcess ? place : ResourceDigest(of: storage, .ofProcess)
            if let digest {
                let isObject = classified.hasObject
                self.init(
                    digest.narrow.half, routes, isObject ? .object : .letters,
                    isObject ? slowest.objects : slowest.letters)
                return
            }
        }
        self.init(KeyedDigest(conversationOf: message, .ofProcess).half, routes, .letters, slowest.letters)
    }

    /// Half a digest of the resource and of the routes is enough, and takes three rounds instead of eight.
    ///
    /// The second half of the key distinguishes the routes; for the same routes, the first half differs exactly if the
    /// digests do, and nobody can make two digests equal without the secret.
    private init(_ digest: UInt64, _ routes: DedupeKey, _ level: PacedKey.Level, _ limits: Pace.Limits) {
        let key = DedupeKey(first: digest ^ routes.first, second: routes.second)
        self.init(ResourceKey(digest: key), level, limits)
    }
}
