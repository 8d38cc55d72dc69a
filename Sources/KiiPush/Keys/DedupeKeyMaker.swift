/// How the ``Deduplicator`` identifies a message: automatically, or as you define it for a kind.
///
/// The automatic keys are those of ``PushMessage/dedupeKeys(app:secret:)``. Replace the keys of a kind if its messages
/// have a better identity, for example an order number that is the same in copies with different times of the push. If
/// the messages of one route have an id in their data, ``RouteDedupe`` is simpler, and takes precedence.
///
/// ```swift
/// let orders = DedupeKeyMaker(
///     pushToUser: { message, key in
///         guard let order = message.data["order"]?.string else { return nil }
///         key.add(message.topic?.name)
///         key.add(order)
///         return .strong
///     })
/// let deduplicator = Deduplicator(keys: orders)
/// ```
///
/// A replacement runs once for each message, synchronously, and must return the same for every copy of a message.
/// Guarantees:
/// - Messages of two apps, of two kinds or of two strengths never have one key, and a replaced key is never equal to an
///   automatic one: each starts with a part of its own under the receiver's secret.
/// - An ambiguous message never gets a replaced key. It keeps the weak digest of its whole payload, so that a forged
///   payload cannot suppress a legitimate message.
/// - If a replacement returns nil, or adds no part but nil, the message has its automatic keys.
public struct DedupeKeyMaker: Sendable {
    /// Identifies a message of one kind: adds the parts of its identity to the key, and returns the strength; nil
    /// leaves the message its automatic keys.
    public typealias Replacement<Message> = @Sendable (Message, inout DedupeKeyBuilder) -> DedupeKeys.Strength?

    /// Replaces nothing.
    public static let automatic = DedupeKeyMaker()

    private let replacement: Replacement<PushMessage>?

    /// Replaces the keys of some kinds; nil leaves a kind its automatic keys.
    public init(
        pushToApp: Replacement<PushToAppMessage>? = nil, pushToUser: Replacement<PushToUserMessage>? = nil,
        directPush: Replacement<DirectPushMessage>? = nil
    ) {
        guard pushToApp != nil || pushToUser != nil || directPush != nil else {
            replacement = nil
            return
        }
        replacement = { message, key in
            switch message.kind {
            case .pushToApp: pushToApp.flatMap { make in PushToAppMessage(message).flatMap { make($0, &key) } }
            case .pushToUser: pushToUser.flatMap { make in PushToUserMessage(message).flatMap { make($0, &key) } }
            case .directPush: directPush.flatMap { make in DirectPushMessage(message).flatMap { make($0, &key) } }
            }
        }
    }

    /// The keys that a message has in a deduplicator with this maker; `app` counts if the payload names none.
    public func keys(of message: PushMessage, app: String? = nil, secret: DedupeSecret) -> DedupeKeys {
        keys(of: message, app, secret, at: ResourceDigest(of: message.storage, secret))
    }

    /// The same for a message whose resource is digested already, under the same secret.
    func keys(
        of message: PushMessage, _ app: String?, _ secret: DedupeSecret, at place: ResourceDigest?
    ) -> DedupeKeys {
        if let replacement, message.certainty != .ambiguous {
            var key = DedupeKeyBuilder(message, app, secret)
            // Without a part, all messages of the kind would have the same key.
            if let strength = replacement(message, &key), key.hasParts {
                return DedupeKeys(primary: key.finish(strength), strength: strength)
            }
        }
        return message.dedupeKeys(app, secret, at: place)
    }
}

/// Collects the parts of a message's identity; a ``DedupeKeyMaker/Replacement`` fills it.
///
/// Parts are separate: `"ab"`, `"c"` makes another key than `"a"`, `"bc"`, and the text `"1"` another one than the
/// number 1. Order matters. Texts are compared by their bytes: two spellings of one character are different. The number
/// and size of parts are bounded only by the payload; the key always has 128 bits.
public struct DedupeKeyBuilder {
    private var digest: KeyedDigest
    /// Whether a part other than nil was added.
    private(set) var hasParts = false

    /// Begins with the parts that distinguish replaced keys: a mark, the kind, the app.
    fileprivate init(_ message: PushMessage, _ app: String?, _ secret: DedupeSecret) {
        digest = KeyedDigest(secret)
        digest.add(.replaced, UInt64(message.kind.tableIndex + 1))
        message.addApp(app, &digest)
    }

    /// Adds a text; nil is a missing part, and differs from the empty text.
    public mutating func add(_ text: String?) {
        guard let text else { return addMissing() }
        digest.add(.text, text)
        hasParts = true
    }

    /// Adds a number, such as ``PushMessage/sentAt``; nil is a missing part, and differs from 0.
    public mutating func add(_ number: Int64?) {
        guard let number else { return addMissing() }
        digest.add(.number)
        digest.add(UInt64(bitPattern: number))
        hasParts = true
    }

    /// Adds a number.
    public mutating func add(_ number: Int) { add(Int64(number)) }

    private mutating func addMissing() { digest.add(.missing) }

    fileprivate consuming func finish(_ strength: DedupeKeys.Strength) -> DedupeKey {
        digest.add(.replaced, strength == .strong ? 1 : 2)
        return digest.finish()
    }
}
