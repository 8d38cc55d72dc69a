/// An expected write: a handler has declared it, and reports its end.
///
/// ``HandlerContext/writing(_:changing:_:)`` does both. Until the end is reported, another device's change may be taken
/// for the write.
///
/// The event that the write causes is dropped once, as `looped` (`echo`). It counts as that of the write only if it
///
/// - is about this object, and reports the declared ``ObjectChange``: a deletion by somebody else is never dropped
///   because of a declared update;
/// - arrived after the declaration, and at most ``LoopSettings/echo`` after it, by default 60 seconds;
/// - has the time of modification that ``End/done(modifiedAt:)`` reported, if both times are known: that proves it,
///   whatever identities this device has.
///
/// If one of the times is not known, as over APNs, the event must have arrived within 10 seconds after `done`, no event
/// of a later modification before it, and it must name no sender, or an identity that this device writes as. A device
/// without identities takes any sender's event for its own if `done` reported no time.
///
/// Over APNs, another device's update cannot be distinguished from this one's within those 10 seconds. If its event is
/// dropped, this write's own event is handled instead, so the handler still sees the object's last state.
public struct OwnWrite: Sendable {
    /// The guard that expects it, and as what; nil without a guard.
    let expected: (by: any WriteWatch, key: ResourceKey, number: UInt64)?

    /// Reports that the write succeeded.
    package func done(modifiedAt: Int64? = nil) {
        if let (loopGuard, key, number) = expected { loopGuard.complete(number, of: key, modifiedAt: modifiedAt) }
    }

    /// Reports that the write failed, so that its event is no longer expected.
    package func failed() { if let (loopGuard, key, number) = expected { loopGuard.withdraw(number, of: key) } }
}

extension OwnWrite {
    /// What became of a write.
    @nonexhaustive
    public enum End: Sendable, Hashable {
        /// It succeeded, with the object's time of modification as the server answered it, in milliseconds since 1970:
        /// with it, another device's event is recognised over every transport that carries the time.
        case done(modifiedAt: Int64? = nil)
        /// Nothing was written, so no event will come.
        case nothing
    }
}

/// A new object that a handler has declared, and whose id the server makes.
public struct OwnCreation: Sendable {
    let loopGuard: (any WriteWatch)?
    let bucket: KiiBucket
    /// When it was declared; nil without a guard.
    let since: MonotonicInstant?

    /// Reports the object that the server made; its event is dropped once, unless a handler was called for it before.
    ///
    /// The time is as in ``OwnWrite/End/done(modifiedAt:)``.
    public func done(id: String, modifiedAt: Int64? = nil) {
        loopGuard?.announce(KiiObject(bucket: bucket, id: id), .fields, since: since).done(modifiedAt: modifiedAt)
    }
}
