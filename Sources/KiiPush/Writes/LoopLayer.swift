/// The layers by which ``LoopGuard`` detects a loop or refuses a write that would start one.
@nonexhaustive
public enum LoopLayer: String, Sendable, Hashable, CaseIterable {
    /// The sender is this device itself.
    case identity
    /// It is the event of a write that a handler declared.
    case echo
    /// It has passed through too many handlers, according to its stamp.
    case lineage
    /// More came than its key, its route or the device handles at once: the message waits.
    case pace
    /// Somebody switched off the route, the bucket or everything.
    case killSwitch
    /// Its handler was about to write to a bucket that its own route listens to, and the route refuses that.
    case ownBucket

    /// The layers that end a message: all but the pace, which lets it wait.
    package static let ofOutcomes = allCases.filter { $0 != .pace }
}
