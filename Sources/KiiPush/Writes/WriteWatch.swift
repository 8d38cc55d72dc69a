/// What handlers need of a loop guard for their writes; a protocol, so that a context does not depend on the guard.
protocol WriteWatch: AnyObject, Sendable {
    /// The present moment on the guard's clock.
    var now: MonotonicInstant { get }
    /// The origin of lineages that begin here: this device's first identity, else a name of the process.
    var origin: String { get }
    /// How many handlers an object may have passed through; nil if they are not counted.
    var hopLimit: Int? { get }
    /// Whether writes to a handler's own bucket are judged.
    var judgesOwnBucket: Bool { get }

    /// Declares a write to an object, at some earlier time or now.
    func announce(_ object: KiiObject, _ change: ObjectChange, since: MonotonicInstant?) -> OwnWrite
    /// Called when an expected write has succeeded.
    func complete(_ write: OwnWrite, modifiedAt: Int64?)
    /// Called when an expected write has failed.
    func withdraw(_ write: OwnWrite)
    /// Takes a message that writes from a route's budget.
    func spendWrite(of route: String, for messageID: UInt64) throws(WriteBudgetSpent)
    /// Called with a declared write that could start a loop.
    func report(_ risk: LoopRisk)
    /// Whether an object has not been modified since another device's stamp was first found in it.
    func isCurrent(_ stamp: Lineage, _ modifiedAt: Int64) -> Bool
}
