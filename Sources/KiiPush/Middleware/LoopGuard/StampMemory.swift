/// What a guard knows of stamps: the time to put into them, those that it made, and those that it knows from a write.
struct StampMemory {
    /// How many of each kind are kept.
    static let limit = 1024

    /// A stamp found where: another object may have been written with it, too.
    private struct Place: Hashable {
        let object: PlaceKey
        let stamp: Lineage
    }

    /// What is known when a stamp is found in an object.
    struct Finding {
        let stamp: Lineage
        /// The object's time of modification, as the handler fetched it.
        let modifiedAt: Int64?
        /// The event's time of modification: the object's is this one, or later.
        let eventModifiedAt: Int64?
        /// When the event was sent.
        let sentAt: Int64?
        /// The object that the event is about, to which the stamp is taken to belong.
        let object: PlaceKey?
    }

    private(set) var server = ServerTime()
    /// When each stamp was made here.
    private var made = BoundedMap<Lineage, MonotonicInstant>(limit: limit)
    /// The last stamp that was made for a message.
    private var ofMessage = BoundedMap<UInt64, Lineage>(limit: limit)
    /// The time of modification that a stamp was written with.
    private var written = BoundedMap<Place, Int64>(limit: limit)

    /// Learns what the server's clock showed when something arrived.
    mutating func learn(_ time: Int64?, arrivedAt: MonotonicInstant, now: MonotonicInstant) {
        if let time { server.learn(time, at: min(arrivedAt, now)) }
    }

    /// Makes a stamp for what the handler of a message sends on.
    mutating func make(_ lineage: Lineage, for messageID: UInt64, now: MonotonicInstant) -> Lineage {
        let stamp = lineage.stamped(at: server.milliseconds(at: now))
        made.set(stamp, now)
        ofMessage.set(messageID, stamp)
        return stamp
    }

    /// Learns that the handler of a message has written an object, and when by the server's clock.
    mutating func wrote(_ object: PlaceKey, _ modifiedAt: Int64, for messageID: UInt64, now: MonotonicInstant) {
        server.learn(modifiedAt, at: now)
        if let stamp = ofMessage[messageID] { written.set(Place(object: object, stamp: stamp), modifiedAt) }
    }

    /// Whether a stamp belongs to the write that the object was fetched after; see ``Lineage``.
    mutating func believes(_ finding: Finding, now: MonotonicInstant) -> Bool {
        let place = finding.object.map { Place(object: $0, stamp: finding.stamp) }
        if let place, let time = written[place], isAfter(time, finding) { return false }
        guard isOfItsWrite(finding, now) else { return false }
        if let place, let time = finding.modifiedAt, written[place] == nil { written.set(place, time) }
        return true
    }

    /// Whether the object was modified after this time.
    private func isAfter(_ time: Int64, _ finding: Finding) -> Bool {
        if let modifiedAt = finding.modifiedAt ?? finding.eventModifiedAt { return modifiedAt > time }
        // The push is made a moment after the write that it tells of.
        return finding.sentAt.map { $0 > time.addingClamped(1000) } ?? false
    }

    private func isOfItsWrite(_ finding: Finding, _ now: MonotonicInstant) -> Bool {
        if let made = made[finding.stamp] { return made.duration(to: now) <= Lineage.lifetime }
        return Self.isOfItsWrite(finding, serverTime: server.milliseconds(at: now))
    }

    /// The same by the stamp's time alone.
    static func isOfItsWrite(_ finding: Finding, serverTime: Int64?) -> Bool {
        let reference = finding.modifiedAt ?? finding.eventModifiedAt ?? finding.sentAt ?? serverTime
        guard let time = finding.stamp.time, let reference else { return false }
        let lifetime = Lineage.lifetime.inNanoseconds / 1_000_000
        // The object may have been written since the event was sent, but not later than now.
        let latest = finding.modifiedAt ?? max(reference, serverTime ?? reference)
        return time >= reference.addingClamped(-lifetime) && time <= latest.addingClamped(lifetime)
    }
}

/// What the server's clock shows, as far as its times tell: the least that it can be ahead of the receiver's clock.
///
/// A time that arrives was true a while before, so the highest difference of some hours is nearest to the truth; an older
/// one is forgotten, since clocks drift apart.
struct ServerTime {
    /// How long a difference counts at least; at most twice as long.
    static let span = Duration.seconds(6 * 3600)

    private var current: Int64?
    private var earlier: Int64?
    private var since = MonotonicInstant(nanoseconds: 0)

    /// Learns that the server's clock showed this time, or a later one, at a moment of the receiver's clock.
    mutating func learn(_ milliseconds: Int64, at moment: MonotonicInstant) {
        guard Lineage.times.contains(milliseconds) else { return }
        let difference = milliseconds - moment.nanoseconds / 1_000_000
        let age = moment.nanoseconds.since(since.nanoseconds)
        if current == nil || age >= Self.span.inNanoseconds {
            earlier = age < Self.span.inNanoseconds * 2 ? current : nil
            (current, since) = (difference, moment)
        } else {
            current = max(current ?? difference, difference)
        }
    }

    /// What it shows now, if anything is known.
    func milliseconds(at now: MonotonicInstant) -> Int64? {
        guard let current else { return nil }
        return max(current, earlier ?? current) + now.nanoseconds / 1_000_000
    }
}

/// A dictionary that forgets the keys that came first when it has too many.
struct BoundedMap<Key: Hashable, Value> {
    private let limit: Int
    private var values: [Key: Value] = [:]
    private var order = ChunkedQueue<Key>()

    init(limit: Int) { self.limit = limit }

    subscript(key: Key) -> Value? { values[key] }

    mutating func set(_ key: Key, _ value: Value) {
        guard values.updateValue(value, forKey: key) == nil else { return }
        order.append(key)
        if order.count > limit, let oldest = order.popFirst() { values[oldest] = nil }
    }
}

extension Int64 {
    /// The sum, or the end of the range that it would leave.
    fileprivate func addingClamped(_ other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (other < 0 ? .min : .max) : sum
    }
}
