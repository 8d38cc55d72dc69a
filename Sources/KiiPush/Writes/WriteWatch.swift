/// What handlers need of a loop guard for their writes; a protocol, so that a context does not depend on the guard.
protocol WriteWatch: AnyObject, Sendable {
    /// The present moment on the guard's clock.
    var now: MonotonicInstant { get }
    /// The layers that are on, and their numbers.
    var settings: LoopSettings { get }
    /// The origin of lineages that begin here: this device's first identity, else a name of the process.
    var origin: String { get }

    /// Declares a write to an object, at some earlier time or now.
    func announce(_ object: KiiObject, _ change: ObjectChange, since: MonotonicInstant?) -> OwnWrite
    /// Called when an expected write has succeeded.
    func complete(_ number: UInt64, of key: ResourceKey, modifiedAt: Int64?)
    /// Called when an expected write has failed.
    func withdraw(_ number: UInt64, of key: ResourceKey)
    /// Takes a message that writes from a route's budget.
    func spendWrite(of route: String, for messageID: UInt64) throws(WriteBudgetSpent)
    /// Called with a declared write that could start a loop.
    func report(_ risk: LoopRisk)
    /// Whether an object has not been modified since another device's stamp was first found in it.
    func isCurrent(_ stamp: Lineage, _ modifiedAt: Int64) -> Bool
}
