/// The last stamps of other devices that handlers have found in objects, each with the object's time of modification
/// when it was found first.
struct FoundStamps {
    /// How many are kept.
    static let limit = 1024
    private var times: [Lineage: Int64] = [:]
    private var order = ShortQueue<Lineage>()

    /// Whether an object has not been modified since a stamp was first found in it.
    mutating func isCurrent(_ stamp: Lineage, _ modifiedAt: Int64) -> Bool {
        if let first = times[stamp] { return modifiedAt <= first }
        times[stamp] = modifiedAt
        order.append(stamp)
        if order.count > Self.limit, let oldest = order.popFirst() { times[oldest] = nil }
        return true
    }
}
