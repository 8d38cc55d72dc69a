/// What a loop is told by: 128 bits for an object, a bucket or a topic, alone or together with a route.
struct PlaceKey: Sendable, Hashable {
    let digest: DedupeKey

    /// The object of a message that has one.
    init(objectOf message: PushMessage, _ secret: DedupeSecret) {
        var digest = KeyedDigest(secret)
        let buffer = message.storage.buffer
        let reading = message.storage.reading
        digest.add(scopeOf: reading, buffer.span)
        digest.add(Meaning.bucket, buffer.span, reading.bucket.range)
        digest.add(Meaning.object, buffer.span, reading.object.range)
        self.init(digest)
    }

    /// An object that a handler names.
    init(_ object: KiiObject, _ secret: DedupeSecret) {
        var digest = KeyedDigest(secret)
        digest.add(object.bucket.scope)
        digest.add(Meaning.bucket, object.bucket.name)
        digest.add(Meaning.object, object.id)
        self.init(digest)
    }

    /// A key that a store has kept.
    init(digest: DedupeKey) { self.digest = digest }

    fileprivate init(_ digest: KeyedDigest) { self.digest = digest.finish() }
}

extension PlaceKey {
    /// A text of the user's own.
    init(own text: String) {
        var digest = KeyedDigest(.published)
        digest.add(Meaning.own, text)
        self.init(digest)
    }

    /// What keeps a message in order with others; nil when it has nothing of that kind.
    init?(_ order: DeliverySettings.Order, of message: PushMessage) {
        let reading = message.storage.reading
        let buffer = message.storage.buffer
        switch order {
        case .none: return nil
        case .object where reading.hasObject: self.init(objectOf: message, .published)
        case .object where reading.hasTopic, .topic where reading.hasTopic:
            var digest = KeyedDigest(.published)
            digest.add(scopeOf: reading, buffer.span)
            digest.add(Meaning.topic, buffer.span, reading.topic.range)
            self.init(digest)
        case .object, .sender:
            guard reading.sender.isPresent else { return nil }
            var digest = KeyedDigest(.published)
            digest.add(senderOf: reading, buffer.span)
            self.init(digest)
        case .topic: return nil
        }
    }
}

/// The keys under which a route counts a message that it lets pass; the device's is always the same.
struct RateKeys: Equatable {
    /// Per object, else per topic and sender, else per conversation: see ``ConversationDigest``.
    let narrow: PlaceKey
    /// Per bucket or topic, else per source of the conversation.
    let wide: PlaceKey?
    /// Per route.
    let route: PlaceKey

    /// Whether a breaker counts what has these keys.
    func has(_ breaker: RateBreakers.ID) -> Bool {
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
    init(_ message: PushMessage, at place: PlaceDigest?, for route: Route, _ secret: DedupeSecret) {
        let storage = message.storage
        let reading = storage.reading
        if reading.hasObject || reading.hasTopic && reading.senderKind != .none {
            // The deduplicator's, unless its secret is another one, as that of a store which outlives the process.
            if let place, place.secret == secret {
                self.init(place, route)
                return
            }
            if let place = PlaceDigest(of: storage, secret) {
                self.init(place, route)
                return
            }
        }
        self.init(conversationOf: message, route, secret)
    }

    private init(_ place: PlaceDigest, _ route: Route) {
        self.init(
            narrow: PlaceKey(place.narrow.half, route), wide: PlaceKey(place.wide.half, route), route: PlaceKey(route))
    }

    // Never inlined, as what it calls.
    @inline(never)
    private init(conversationOf message: PushMessage, _ route: Route, _ secret: DedupeSecret) {
        let conversation = ConversationDigest(of: message, at: PlaceDigest(of: message.storage, secret), secret)
        self.init(
            narrow: PlaceKey(conversation.narrow, route), wide: PlaceKey(conversation.wide, route),
            route: PlaceKey(route))
    }
}

extension PlaceKey {
    /// A place or a sender, for one route alone.
    ///
    /// Half a digest of each is enough, and takes three rounds in place of eight. The second half of the key tells the
    /// routes apart; of one route the first half differs just where the places' digests do, and nobody who does not know
    /// the secret can make two of those equal.
    fileprivate init(_ place: UInt64, _ route: Route) {
        digest = DedupeKey(first: place ^ route.digest.first, second: route.digest.second)
    }
}

extension PlaceKey {
    // Halves that no digest has but by a chance of one in 2^64, so that a stored key tells what it is of.
    private static let ofRoute: UInt64 = 0x726F_7574_6500_0001
    private static let ofDevice: UInt64 = 0x6465_7669_6365_0001

    /// All messages of a device.
    static let device = PlaceKey(digest: DedupeKey(first: 0, second: ofDevice))

    /// All messages of a route.
    init(_ route: Route) {
        digest = DedupeKey(first: route.digest.first ^ route.digest.second, second: Self.ofRoute)
    }

    /// Whether it is a route's or the device's; nil for any other.
    var broadLevel: RateBreakers.Level? {
        switch digest.second {
        case Self.ofRoute: .route
        case Self.ofDevice: .device
        default: nil
        }
    }
}

/// The meanings of the parts of a key, so that equal bytes in another place make another key.
private enum Meaning {
    static let bucket: UInt8 = 1
    static let object: UInt8 = 2
    static let topic: UInt8 = 3
    static let sender: UInt8 = 4
    static let scope: UInt8 = 5
    static let own: UInt8 = 6
}

extension KeyedDigest {
    fileprivate mutating func add(scopeOf reading: Reading, _ text: Span<UInt8>) {
        add(UInt64(reading.scopeKind.number))
        add(Meaning.scope, text, reading.scopeID.range)
    }

    fileprivate mutating func add(_ scope: KiiScope) {
        let (kind, id): (MessageScope.Kind, String) =
            switch scope {
            case .app: (.app, "")
            case .user(let user): (.user, user.id)
            case .group(let group): (.group, group.id)
            case .thing(let thing): (.thing, thing.id)
            }
        add(UInt64(kind.number))
        add(Meaning.scope, id)
    }

    fileprivate mutating func add(senderOf reading: Reading, _ text: Span<UInt8>) {
        add(UInt64(reading.senderKind.rawValue))
        add(Meaning.sender, text, reading.sender.range)
    }
}
