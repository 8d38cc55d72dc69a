import Synchronization

/// A payload in a service, from the moment when it is taken in until it has ended.
///
/// One task at a time has it: a lane's, a timer's, or one that waits for its end elsewhere.
final class Parcel: Sendable {
    /// How far it has come.
    struct Progress: Sendable {
        var message: RoutedMessage
        /// How many stages have passed it; nil while the chain has not judged it, or when it must do so anew.
        var passed: Int?
        var attempts = 0
        /// The routes that are done with it: their handlers have succeeded, or ended a loop.
        var done: [String] = []
        /// The layer that ended a loop for one of them.
        var loopEnd: LoopLayer?
        /// Why nobody is to handle it any more, where the dead letters had no room for it yet.
        var isGivenUp: DeadLetter.Reason?
        /// The type of what was thrown last.
        var cause: String?
    }

    /// Its number in the inbox.
    let number: UInt64
    let bytes: Int
    let lane: LaneKey
    let delivery: DeliverySettings
    let receipt: Receipt
    /// Whether the kill switch would have stopped it when it came: else it was queued when it was switched off.
    let wasKilled: Bool
    /// Whether its lane waits for it: it is being handled, or tried again before those behind it.
    let hasLane = Atomic<Bool>(false)
    private let state: Mutex<Progress>

    init(
        _ number: UInt64, _ message: RoutedMessage, _ delivery: DeliverySettings, _ receipt: Receipt,
        wasKilled: Bool = false
    ) {
        self.number = number
        self.delivery = delivery
        self.receipt = receipt
        self.wasKilled = wasKilled
        bytes = message.message.raw.bytes.count
        lane = PlaceKey(delivery.order, of: message.message).map { .place($0) } ?? .alone(number)
        state = Mutex(Progress(message: message))
    }

    var progress: Progress {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }

    /// The number of its message in the receiver.
    var messageID: UInt64 { state.withLock { $0.message.id } }
}

extension Parcel.Progress {
    /// The routes that are to handle it still.
    var remaining: [Route] {
        message.routes.filter { route in !done.contains { $0.isExactly(route.id) } }
    }

    /// The routes whose handlers have succeeded.
    var succeeded: MatchedRoutes {
        MatchedRoutes(message.routes.filter { route in done.contains { $0.isExactly(route.id) } })
    }
}

/// What keeps parcels in order.
enum LaneKey: Hashable, Sendable {
    /// All of one object, topic or sender.
    case place(PlaceKey)
    /// A parcel in no order.
    case alone(UInt64)
}
