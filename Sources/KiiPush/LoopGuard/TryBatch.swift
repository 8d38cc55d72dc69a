/// The held messages that a breaker tries together, and the arrivals since.
struct TryBatch {
    var started: Int64 = .min
    var size = 0
    /// How many still wait for their turn, and how many are being handled.
    var toGo = 0, running = 0
    /// How many arrived since it started.
    var answers = 0
    /// Whether the cause is known, and only the queue is too long to be released at once.
    var isGrowing = false
}
