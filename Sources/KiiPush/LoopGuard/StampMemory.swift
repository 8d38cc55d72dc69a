/// A guard's memory of stamps: the time to put into them, those that it made, and those that it found in objects.
struct StampMemory {
    /// How many of each kind are kept.
    static let limit = 1024

    /// A stamp and the object that it is in; another object may have been written with it, too.
    private struct Place: Hashable {
        let object: ResourceKey
        let stamp: Lineage
    }

    /// A stamp of this device.
    private struct Own {
        /// The message for which it was made.
        let messageID: UInt64
        let madeAt: MonotonicInstant
        /// The stamp that counted for that message, if one did.
        let before: Lineage?
    }

    /// When an object was modified.
    private struct Written {
        let time: Int64
        /// Whether the handler reported it for its own write.
        var isReported = false
    }

    private var server = ServerTime()
    private var own = BoundedMap<Lineage, Own>(limit: limit)
    /// The last stamp that was made for a message.
    private var ofMessage = BoundedMap<UInt64, Lineage>(limit: limit)
    /// The stamp that counted for a message.
    private var causes = BoundedMap<UInt64, Lineage?>(limit: limit)
    /// The time of modification of a stamp's write, or that with which it was first found.
    private var written = BoundedMap<Place, Written>(limit: limit)

    /// Records a time of the server's clock, and when it arrived.
    mutating func learn(_ time: Int64?, arrivedAt: MonotonicInstant, now: MonotonicInstant) {
        if let time { server.learn(time, at: min(arrivedAt, now)) }
    }

    /// Makes a stamp for a message or an object that a handler sends on.
    mutating func make(_ lineage: Lineage, by maker: String, for messageID: UInt64, now: MonotonicInstant) -> Lineage {
        var stamp = lineage.stamped(at: server.milliseconds(at: now), by: maker)
        // If another message has this stamp, a millisecond more makes it different.
        while let time = stamp.time, let other = own[stamp], other.messageID != messageID,
            time < Lineage.times.upperBound
        {
            stamp = lineage.stamped(at: time + 1, by: maker)
        }
        own.set(stamp, Own(messageID: messageID, madeAt: now, before: causes[messageID] ?? nil))
        ofMessage.set(messageID, stamp)
        return stamp
    }

    /// Records that the handler of a message has written an object, and the server's time of that.
    mutating func wrote(_ object: ResourceKey, _ modifiedAt: Int64, for messageID: UInt64, now: MonotonicInstant) {
        server.learn(modifiedAt, at: now)
        guard let stamp = ofMessage[messageID] else { return }
        written.set(Place(object: object, stamp: stamp), Written(time: modifiedAt, isReported: true))
    }

    /// The stamp of the write that caused a message, whose handler found a stamp in the object; see ``Lineage``.
    ///
    /// A stamp of this device with more than `hops` counts for the messages of earlier changes, too: there is a loop.
    mutating func cause(_ finding: StampFinding, hops: Int, now: MonotonicInstant) -> Lineage? {
        let place = finding.object.map { Place(object: $0, stamp: finding.stamp) }
        let written = place.flatMap { self.written[$0] }
        var cause: Lineage?
        if let written, finding.tellsOfChange(after: written.time) {
            cause = nil
        } else if let written, written.isReported, finding.isOf(written.time, orEarlier: finding.stamp.hops > hops) {
            cause = finding.stamp
        } else if let own = own[finding.stamp] {
            learnFirst(place, finding.modifiedAt)
            // The write of one message does not lengthen the lineage of another that waited meanwhile.
            cause = own.madeAt.duration(to: finding.arrivedAt) <= Lineage.lifetime ? own.before : nil
        } else if finding.isOfItsWrite(serverTime: server.milliseconds(at: now)) {
            learnFirst(place, finding.modifiedAt)
            cause = finding.stamp
        }
        causes.set(finding.messageID, cause)
        return cause
    }

    private mutating func learnFirst(_ place: Place?, _ modifiedAt: Int64?) {
        if let place, let modifiedAt, written[place] == nil { written.set(place, Written(time: modifiedAt)) }
    }
}

/// An estimate of the server's clock from its times: the least that it can be ahead of the receiver's clock.
///
/// The greatest difference is the most accurate, since a time arrives after it was read. It shrinks by a millisecond a
/// second, because clocks drift apart.
struct ServerTime {
    private var ahead: Int64?
    private var since = MonotonicInstant(nanoseconds: 0)

    /// Records that the server's clock showed this time, or a later one, at a moment of the receiver's clock.
    mutating func learn(_ milliseconds: Int64, at moment: MonotonicInstant) {
        guard Lineage.times.contains(milliseconds) else { return }
        let difference = milliseconds - moment.nanoseconds / 1_000_000
        let seconds = max(moment.nanoseconds.since(since.nanoseconds), 0) / 1_000_000_000
        ahead = max(ahead.map { $0 - seconds } ?? difference, difference)
        since = moment
    }

    /// The server's time now, if it is known.
    func milliseconds(at now: MonotonicInstant) -> Int64? { ahead.map { $0 + now.nanoseconds / 1_000_000 } }
}

/// A dictionary that forgets its oldest keys beyond a limit.
struct BoundedMap<Key: Hashable, Value> {
    private let limit: Int
    private var values: [Key: Value] = [:]
    private var order = ShortQueue<Key>()

    init(limit: Int) { self.limit = limit }

    subscript(key: Key) -> Value? { values[key] }

    mutating func set(_ key: Key, _ value: Value) {
        guard values.updateValue(value, forKey: key) == nil else { return }
        order.append(key)
        if order.count > limit, let oldest = order.popFirst() { values[oldest] = nil }
    }
}
