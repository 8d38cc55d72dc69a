/// A guard's memory of stamps: the time to put into them, those that it made, and those that it found in objects.
struct StampMemory {
    /// How many of each kind are kept.
    static let limit = 1024

    /// A stamp and the object that it was found in; another object may have been written with it, too.
    private struct Place: Hashable {
        let object: ResourceKey
        let stamp: Lineage
    }

    /// A stamp of this device, by its number, and the object that it was written to.
    private struct OwnPlace: Hashable {
        let object: ResourceKey
        let number: UInt64
    }

    /// A write of this device whose handler reported it.
    private struct Write {
        let modifiedAt: Int64
        /// Whether its event has arrived.
        var hasEvent: Bool
    }

    /// The relation of a message to a stamp of this device.
    private enum Relation {
        /// It reports the write that the stamp was part of.
        case event
        /// It reports an earlier change.
        case earlier
        /// It reports a later change, which left the stamp in the object.
        case later
        /// It reports an earlier change or a later one.
        case other
    }

    private(set) var server = ServerTime()
    private var own = OwnStamps(limit: limit)
    /// The stamp that the handler of a message found in its object.
    private var found = BoundedMap<UInt64, OwnStamps.Content>(limit: limit)
    /// The number of the last stamp that was made for a message.
    private var ofMessage = BoundedMap<UInt64, UInt64>(limit: limit)
    private var writes = BoundedMap<OwnPlace, Write>(limit: limit)
    /// The number of the stamp of an object's last reported write.
    private var lastWritten = BoundedMap<ResourceKey, UInt64>(limit: limit)
    /// The time of modification with which a stamp was first found: that of its write, or a later one.
    private var firstSeen = BoundedMap<Place, Int64>(limit: limit)

    /// Records a time of the server's clock, and when it arrived.
    mutating func learn(_ time: Int64?, arrivedAt: MonotonicInstant, now: MonotonicInstant) {
        if let time { server.learn(time, at: min(arrivedAt, now)) }
    }

    /// Makes a stamp for a message or an object that a handler sends on.
    mutating func make(_ lineage: Lineage, by maker: String, for messageID: UInt64, now: MonotonicInstant) -> Lineage {
        var stamp = lineage.stamped(at: server.milliseconds(at: now), by: maker)
        while let time = stamp.time, let number = own.number(of: stamp), time < Lineage.times.upperBound {
            // The same handler has read it twice.
            if number == ofMessage[messageID] { return stamp }
            // Another message has this stamp; a millisecond more makes it different.
            stamp = lineage.stamped(at: time + 1, by: maker)
        }
        ofMessage.set(messageID, own.add(stamp, madeAt: now, before: found[messageID] ?? .nothing))
        return stamp
    }

    /// Records that the handler of a message has written an object, the server's time of that, and whether its event
    /// has arrived already.
    mutating func wrote(
        _ object: ResourceKey, _ modifiedAt: Int64, for messageID: UInt64, hasEvent: Bool, now: MonotonicInstant
    ) {
        server.learn(modifiedAt, at: now)
        guard let number = ofMessage[messageID] else { return }
        writes.set(OwnPlace(object: object, number: number), Write(modifiedAt: modifiedAt, hasEvent: hasEvent))
        lastWritten.set(object, number)
    }

    /// Records the arrival of a reported write's event, so that the next event of the object belongs to another write.
    mutating func ownEventCame(of object: ResourceKey) {
        guard let number = lastWritten[object] else { return }
        let place = OwnPlace(object: object, number: number)
        guard var write = writes[place] else { return }
        write.hasEvent = true
        writes.set(place, write)
    }

    /// The stamp of the write that caused a message, whose handler found a stamp in the object; see ``Lineage``.
    ///
    /// If the object has passed through more than `hops` handlers, that stamp counts for all earlier messages, too:
    /// there is a loop.
    mutating func cause(_ finding: StampFinding, hops: Int, now: MonotonicInstant) -> Lineage? {
        var content = content(finding, now)
        found.set(finding.messageID, content)
        while case .own(let number) = content {
            guard let entry = own[number] else { return nil }
            switch relation(of: finding, to: entry) {
            case .event: return entry.stamp
            case .earlier where entry.stamp.hops > hops: return entry.stamp
            case .earlier, .other: content = entry.before
            case .later: return nil
            }
        }
        guard case .other(let stamp) = content else { return nil }
        return stamp
    }

    /// The stamp that was found, unless it is stale.
    private mutating func content(_ finding: StampFinding, _ now: MonotonicInstant) -> OwnStamps.Content {
        let place = finding.object.map { Place(object: $0, stamp: finding.stamp) }
        let number = own.number(of: finding.stamp)
        let written = finding.object.flatMap { reported(number, $0)?.modifiedAt } ?? place.flatMap { firstSeen[$0] }
        if let written, let modifiedAt = finding.modifiedAt, modifiedAt > written { return .nothing }
        if let number {
            learnFirst(place, finding.modifiedAt)
            return .own(number)
        }
        if let written, finding.tellsOfChange(after: written) { return .nothing }
        guard finding.isOfItsWrite(serverTime: server.milliseconds(at: now)) else { return .nothing }
        learnFirst(place, finding.modifiedAt)
        return .other(finding.stamp)
    }

    private mutating func learnFirst(_ place: Place?, _ modifiedAt: Int64?) {
        if let place, let modifiedAt, firstSeen[place] == nil { firstSeen.set(place, modifiedAt) }
    }

    private func relation(of finding: StampFinding, to entry: OwnStamps.Entry) -> Relation {
        let write = finding.object.flatMap { reported(entry.number, $0) }
        if let write {
            if let time = finding.eventModifiedAt {
                return time == write.modifiedAt ? .event : time < write.modifiedAt ? .earlier : .later
            }
            if let time = finding.sentAt, time < write.modifiedAt { return .earlier }
            if finding.tellsOfChange(after: write.modifiedAt) { return .later }
        }
        // A message that arrived before the stamp was made was not caused by the write.
        if finding.arrivedAt < entry.madeAt { return .earlier }
        guard entry.madeAt.duration(to: finding.arrivedAt) <= Lineage.lifetime else { return .later }
        // Whether another change is earlier or later is not known here; for a later one, the predecessors change
        // nothing.
        return finding.isStrangers || write?.hasEvent == true ? .other : .event
    }

    private func reported(_ number: UInt64?, _ object: ResourceKey) -> Write? {
        number.flatMap { writes[OwnPlace(object: object, number: $0)] }
    }
}

/// An estimate of the server's clock from its times: the least that it can be ahead of the receiver's clock.
///
/// A time arrives some time after it was read, so the highest difference of some hours is the most accurate; older ones
/// are forgotten, because clocks drift apart.
struct ServerTime {
    /// How long a difference counts: at least this long, at most twice as long.
    static let span = Duration.seconds(6 * 3600)

    private var current: Int64?
    private var earlier: Int64?
    private var since = MonotonicInstant(nanoseconds: 0)

    /// Records that the server's clock showed this time, or a later one, at a moment of the receiver's clock.
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

    /// The server's time now, if it is known.
    func milliseconds(at now: MonotonicInstant) -> Int64? {
        guard let current else { return nil }
        return max(current, earlier ?? current) + now.nanoseconds / 1_000_000
    }
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
