/// Whether arriving messages had been waiting for the device.
///
/// A device that is behind receives messages at its own pace, however they were sent: thousands that one handled
/// message caused look like a stream from elsewhere. So nothing is decided before the backlog has ended.
struct Backlog {
    /// How long decisions are postponed at most within ``interval``, because a device may be behind for ever.
    static let patience = Int64.seconds(60)
    static let interval = Int64.seconds(600)

    private var new = 0
    private var waited = 0
    private var lastWaited: Int64 = .min
    private var putOffSince: Int64?

    /// Records the arrival of a message.
    mutating func note(_ arrival: Arrival) {
        guard arrival.kind == .waited else { return new += 1 }
        waited += 1
        lastWaited = arrival.now
    }

    /// Resets the counts.
    mutating func restart() { (new, waited) = (0, 0) }

    /// When the last waiting message arrived, if most had waited and a decision may be postponed; resets the counts.
    mutating func takeEnd(_ now: Int64) -> Int64? {
        defer { restart() }
        guard waited > new else { return nil }
        let start = putOffSince.flatMap { now.since($0) < Self.interval ? $0 : nil } ?? now
        putOffSince = start
        return now.since(start) < Self.patience ? lastWaited : nil
    }
}
