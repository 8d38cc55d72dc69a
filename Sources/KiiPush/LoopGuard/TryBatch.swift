/// The held messages that a breaker tries together, and what came since.
struct TryBatch {
    var started: Int64 = .min
    var size = 0
    /// How many have not had their turn, and how many have it.
    var toGo = 0, running = 0
    /// How many arrived since it started.
    var answers = 0
    /// Whether the cause is known, and only the queue is too long to be released at once.
    var isGrowing = false
}
