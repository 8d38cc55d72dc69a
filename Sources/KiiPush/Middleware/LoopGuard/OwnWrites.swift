/// The writes that handlers have announced, each waiting for the one event that it will cause.
struct OwnWrites {
    /// How many writes wait at most; beyond, the oldest is given up, and its event is handled like any other.
    static let limit = 10_000

    struct Announcement {
        let number: UInt64
        let end: MonotonicInstant
        /// When the object was modified, once the server has said so.
        var modifiedAt: Int64?
    }

    private var waiting: [PlaceKey: [Announcement]] = [:]
    /// Every announcement in the order in which they end, with those that have ended by their event or by failing.
    private var order = ChunkedQueue<(key: PlaceKey, number: UInt64, end: MonotonicInstant)>()
    private var lastNumber: UInt64 = 0
    private(set) var count = 0
    /// How many were given up for want of room.
    private(set) var givenUp = 0

    var isIdle: Bool { count == 0 }

    /// Announces a write; returns the announcement's number.
    mutating func announce(_ key: PlaceKey, _ modifiedAt: Int64?, until end: MonotonicInstant, now: MonotonicInstant)
        -> UInt64
    {
        forgetOld(now)
        lastNumber += 1
        waiting[key, default: []].append(Announcement(number: lastNumber, end: end, modifiedAt: modifiedAt))
        order.append((key, lastNumber, end))
        count += 1
        if order.count > Self.limit, let oldest = order.popFirst(), remove(oldest.number, of: oldest.key) {
            givenUp += 1
        }
        return lastNumber
    }

    /// Says when the object of an announced write was modified.
    mutating func complete(_ number: UInt64, of key: PlaceKey, modifiedAt: Int64) {
        guard let index = waiting[key]?.firstIndex(where: { $0.number == number }) else { return }
        waiting[key]?[index].modifiedAt = modifiedAt
    }

    /// Takes an announcement back; whether it was still waiting.
    @discardableResult
    mutating func remove(_ number: UInt64, of key: PlaceKey) -> Bool {
        guard let index = waiting[key]?.firstIndex(where: { $0.number == number }) else { return false }
        waiting[key]?.remove(at: index)
        if waiting[key]?.isEmpty == true { waiting[key] = nil }
        count -= 1
        return true
    }

    /// Takes the announcement whose event this is; whether there was one.
    ///
    /// One with the very time of the event is the one, else the oldest of which no time is known.
    mutating func take(_ key: PlaceKey, modifiedAt: Int64?, now: MonotonicInstant) -> Bool {
        forgetOld(now)
        guard let announcements = waiting[key] else { return false }
        let living = announcements.filter { $0.end > now }
        let match =
            living.first { $0.modifiedAt != nil && $0.modifiedAt == modifiedAt }
            ?? living.first { $0.modifiedAt == nil || modifiedAt == nil }
        return match.map { remove($0.number, of: key) } ?? false
    }

    /// Forgets up to two whose time is over: more than can come in meanwhile, so none stays for long.
    private mutating func forgetOld(_ now: MonotonicInstant) {
        for _ in 0..<2 {
            guard let first = order.first, first.end <= now || !isWaiting(first.number, first.key) else { return }
            _ = order.popFirst()
            remove(first.number, of: first.key)
        }
    }

    private func isWaiting(_ number: UInt64, _ key: PlaceKey) -> Bool {
        waiting[key]?.contains { $0.number == number } ?? false
    }
}

/// A write that a handler has announced, to be reported done or failed.
///
/// ```swift
/// let write = try context.willWrite(event.object)
/// do {
///     write.done(modifiedAt: try await cloud.put(event.object))
/// } catch {
///     write.failed()
///     throw error
/// }
/// ```
///
/// The event that the write causes is cut once, as `looped` (`echo`): for 60 seconds, when its sender is absent or one
/// that this device writes as, and, where both times of modification are known, when they are equal.
public struct OwnWrite: Sendable {
    let loopGuard: LoopGuard?
    let key: PlaceKey?
    let number: UInt64

    /// Reports that the write succeeded.
    ///
    /// - Parameter modifiedAt: the object's time of modification as the server answered it, in milliseconds since 1970;
    ///   with it, an event of somebody else's write is told apart over every transport that carries the time.
    public func done(modifiedAt: Int64? = nil) {
        guard let key, let modifiedAt else { return }
        loopGuard?.complete(number, of: key, modifiedAt: modifiedAt)
    }

    /// Reports that the write failed, so that no event is expected of it.
    public func failed() {
        guard let key else { return }
        loopGuard?.withdraw(number, of: key)
    }
}

/// A new object that a handler has announced, whose id the server makes.
public struct OwnCreation: Sendable {
    let loopGuard: LoopGuard?
    let bucket: KiiBucket

    /// Reports the object that the server made; its event is cut once, unless it came before this call.
    ///
    /// - Parameters:
    ///   - id: the object's id.
    ///   - modifiedAt: its time of modification as the server answered it, in milliseconds since 1970.
    public func done(id: String, modifiedAt: Int64? = nil) {
        _ = loopGuard?.announce(KiiObject(bucket: bucket, id: id), modifiedAt)
    }
}
