/// A stamp that a handler found in an object, with the evidence about its age.
struct StampFinding {
    let stamp: Lineage
    /// The object's time of modification, as the handler fetched it.
    let modifiedAt: Int64?
    /// The event's time of modification; the object's is the same or later.
    let eventModifiedAt: Int64?
    let sentAt: Int64?
    /// The object of the event, assumed to be that of the stamp.
    var object: ResourceKey?
    /// The message whose handler found it.
    var messageID: UInt64 = 0
    /// When the message arrived.
    var arrivedAt = MonotonicInstant(nanoseconds: 0)

    /// Whether, by the times, the stamp belongs to the object's last write.
    func isOfItsWrite(serverTime: Int64?) -> Bool {
        let reference = modifiedAt ?? eventModifiedAt ?? sentAt ?? serverTime
        guard let time = stamp.time, let reference else { return false }
        let lifetime = Lineage.lifetime.inNanoseconds / 1_000_000
        // The object may have been written since the event was sent, but not later than now.
        let latest = modifiedAt ?? max(reference, serverTime ?? reference)
        return time >= reference.addingClamped(-lifetime) && time <= latest.addingClamped(lifetime)
    }

    /// Whether the object or its event shows a modification after this time.
    func tellsOfChange(after time: Int64) -> Bool {
        if let modifiedAt = modifiedAt ?? eventModifiedAt { return modifiedAt > time }
        // The push is made a moment after the write that it reports.
        return sentAt.map { $0 > time.addingClamped(1000) } ?? false
    }

    /// Whether the message tells of the change that was made at this time, or, if wanted, of an earlier one.
    func isOf(_ time: Int64, orEarlier: Bool) -> Bool {
        eventModifiedAt == time || orEarlier && (eventModifiedAt ?? sentAt).map { $0 < time } ?? false
    }
}
