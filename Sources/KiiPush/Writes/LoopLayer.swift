/// The layers by which ``LoopGuard`` recognises a loop, and its refusal of a write that would begin one.
@nonexhaustive
public enum LoopLayer: String, Sendable, Hashable, CaseIterable {
    /// The sender is this device itself.
    case identity
    /// It is the event of a write that a handler announced.
    case echo
    /// It has come through too many handlers, as its stamp says.
    case lineage
    /// Its route handles too much: it is held, and looped only when somebody drops it.
    case rate
    /// Someone switched the route, the bucket or everything off.
    case killSwitch
    /// Its handler was about to write to a bucket that its own route takes, and the route refuses that.
    case ownBucket
}
