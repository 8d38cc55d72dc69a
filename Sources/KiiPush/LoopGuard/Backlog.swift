/// Whether what comes had been waiting for the device to take it.
///
/// A device that is behind takes messages in at its own pace, however they were sent: thousands that one handled
/// message has caused look like a stream that nobody here caused. So nothing is decided before that has ended.
struct Backlog {
    /// For how long decisions are put off at most, in all, within ``interval``: a device may be behind for ever.
    static let patience = Int64.seconds(60)
    static let interval = Int64.seconds(600)

    private var new = 0
    private var waited = 0
    private var lastWaited: Int64 = .min
    private var putOffSince: Int64?

    /// Takes down that a message came.
    mutating func note(_ arrival: Arrival) {
        guard arrival.kind == .waited else { return new += 1 }
        waited += 1
        lastWaited = arrival.now
    }

    /// Begins to count anew.
    mutating func restart() { (new, waited) = (0, 0) }

    /// When the last message came that had waited, if most had and a decision may be put off; counting begins anew
    /// then.
    mutating func takeEnd(_ now: Int64) -> Int64? {
        defer { restart() }
        guard waited > new else { return nil }
        let start = putOffSince.flatMap { now.since($0) < Self.interval ? $0 : nil } ?? now
        putOffSince = start
        return now.since(start) < Self.patience ? lastWaited : nil
    }
}
