import Synchronization

/// Ends messages that would feed a loop: a handler that causes the very pushes that it handles.
///
/// Kii's own guide warns of it: a handler that writes to the bucket it listens to starts a loop on every device, and
/// only a new release on all of them ends it. Put the guard second in the chain, behind ``Deduplicator``.
///
/// Layers, each with a reason of its own in the outcome:
/// - *Identity*: the sender is one of `me`, identities that only this device writes as. A user with several devices
///   does not belong there: the other devices' messages would be dropped too. Payloads without a sender, such as any
///   APNs Push to App, pass.
/// - *Kill switch*: ``kill(_:for:)`` ends messages of a route, of a bucket, or all, at once and until a time, without a
///   new release.
public final class LoopGuard: Middleware {
    private let me: [OwnIdentity]
    private let clock: any ReceiverClock
    private let kills = Mutex<[KillTarget: MonotonicInstant]>([:])
    /// Lets the common case, nothing killed, go by without the lock.
    private let hasKills = Atomic<Bool>(false)

    /// Makes a guard.
    ///
    /// - Parameters:
    ///   - me: identities that only this device writes as: a thing, or a user with one device.
    ///   - clock: the receiver's clock, for the ends of kills.
    public init(me: [Sender] = [], clock: any ReceiverClock = SystemClock()) {
        self.me = me.map(OwnIdentity.init)
        self.clock = clock
    }

    /// Drops what this device caused itself, and what is switched off.
    public func admit(_ message: inout RoutedMessage) -> Verdict {
        if isMine(message.message) { return .drop(.looped(.identity)) }
        guard hasKills.load(ordering: .acquiring) else { return .pass }
        return applyKills(&message)
    }

    private func isMine(_ message: PushMessage) -> Bool {
        let reading = message.storage.reading
        guard !me.isEmpty, reading.senderKind != .none else { return false }
        let buffer = message.storage.buffer
        let text = buffer.span
        return me.contains { $0.kind == reading.senderKind && text.matches(reading.sender.range, $0.id) }
    }

    // MARK: Kill switch

    /// Switches a target off, until `duration` is over or ``revive(_:)`` is called; a target killed twice ends last.
    public func kill(_ target: KillTarget, for duration: Duration) {
        let end = clock.now.advanced(by: duration)
        kills.withLock { kills in
            kills[target] = max(kills[target] ?? end, end)
            hasKills.store(true, ordering: .releasing)
        }
    }

    /// Switches a target on again; does nothing when it is not off.
    public func revive(_ target: KillTarget) {
        kills.withLock { kills in
            kills[target] = nil
            hasKills.store(!kills.isEmpty, ordering: .releasing)
        }
    }

    /// The targets that are switched off now.
    public var killed: Set<KillTarget> {
        let now = clock.now
        return kills.withLock { Set($0.filter { $0.value > now }.keys) }
    }

    private func applyKills(_ message: inout RoutedMessage) -> Verdict {
        let now = clock.now
        let active = kills.withLock { kills in
            kills = kills.filter { $0.value > now }
            hasKills.store(!kills.isEmpty, ordering: .releasing)
            return Set(kills.keys)
        }
        if active.contains(.everything) { return .drop(.looped(.killSwitch)) }
        if let uri = message.message.bucket?.uri {
            let inApp = KiiURI(appID: message.message.appID ?? message.app, owner: uri.owner, resource: uri.resource)
            if active.contains(.bucket(uri)) || active.contains(.bucket(inApp)) { return .drop(.looped(.killSwitch)) }
        }
        message.stopRoutes(.looped(.killSwitch)) { active.contains(.route($0.id)) }
        return .pass
    }
}

/// What a kill switch ends.
public enum KillTarget: Sendable, Hashable, CustomStringConvertible {
    /// Every message.
    case everything
    /// Every message about a bucket; of one app only, if the URI names it.
    case bucket(KiiURI)
    /// What one route would handle; other routes that take the same message still do.
    case route(String)

    /// Reads a target as it is typed: `*`, a bucket's `kiicloud://` URI, or a route's id.
    ///
    /// Nil for any other URI: taken for a route's id it would stop nothing, and nobody would know.
    public init?(_ text: String) {
        if text == "*" {
            self = .everything
        } else if text.begins(exactlyWith: "kiicloud:") {
            guard let uri = KiiURI(text), case .bucket = uri.resource else { return nil }
            self = .bucket(uri)
        } else {
            self = .route(text)
        }
    }

    /// The target as it is typed.
    public var description: String {
        switch self {
        case .everything: "*"
        case .bucket(let uri): uri.description
        case .route(let id): id
        }
    }
}

/// A sender's kind and id, ready to be compared with a payload's.
private struct OwnIdentity {
    let kind: Reading.SenderKind
    let id: String

    init(_ sender: Sender) {
        kind =
            switch sender {
            case .user: .user
            case .thing: .thing
            case .admin: .admin
            }
        id = sender.id
    }
}
