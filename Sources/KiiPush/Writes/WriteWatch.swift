/// What handlers tell a loop guard of their writes, and ask of it.
///
/// A protocol, so that what a handler is given need not know the guard, which judges the messages of all.
package protocol WriteWatch: AnyObject, Sendable {
    /// The present moment on the guard's clock.
    var now: MonotonicInstant { get }
    /// The name under which handlers here begin a lineage.
    var origin: String { get }
    /// How many handlers an object may have come through; nil where nobody counts.
    var hopLimit: Int? { get }
    /// Whether writes to a handler's own bucket are judged.
    var judgesOwnBucket: Bool { get }

    /// Announces a write to an object.
    ///
    /// - Parameters:
    ///   - object: the object.
    ///   - change: what the write does to it.
    ///   - since: when it was announced; now unless it is reported later.
    ///   - messageID: the message whose handler announces it.
    /// - Returns: the announced write.
    func announce(
        _ object: KiiObject, _ change: ObjectChange, since: MonotonicInstant?, for messageID: UInt64?
    ) -> OwnWrite

    /// Learns that an announced write has succeeded.
    func complete(_ write: OwnWrite, modifiedAt: Int64?)

    /// Learns that an announced write has failed.
    func withdraw(_ write: OwnWrite)

    /// Learns of an announced write that could start a loop.
    func report(_ risk: LoopRisk)

    /// Makes a stamp for what the handler of a message sends on.
    func makeStamp(
        _ lineage: Lineage, for messageID: UInt64, _ message: PushMessage, arrivedAt: MonotonicInstant
    ) -> Lineage

    /// The stamp of the write that caused a message, where its handler has found a stamp in the object; nil when that
    /// one is stale.
    func cause(
        of messageID: UInt64, _ message: PushMessage, arrivedAt: MonotonicInstant, found stamp: Lineage,
        modifiedAt: Int64?
    ) -> Lineage?
}
