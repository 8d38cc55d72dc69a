import KiiPush
import Synchronization

/// A payload in a service, from the moment when it is taken in until it has ended.
///
/// One task at a time has it: a lane's, a timer's, or one that waits for its end elsewhere.
final class Parcel: Sendable {
    /// What the chain knows of it.
    enum Chain: Sendable {
        /// Nothing yet, or it must be asked anew.
        case unasked
        /// So many stages have passed it, and are to be told its end.
        case passed(Int)
        /// Its end; what is left of it is for routes that were held.
        case told
    }

    /// That a breaker lets a held message be handled.
    struct Turn: Sendable {
        let held: HeldMessage
        let breaker: BreakerID
    }

    /// How far it has come.
    struct Progress: Sendable {
        var message: RoutedMessage
        var chain = Chain.unasked
        /// How often its handlers were run.
        var attempts = 0
        /// How often in a row its handlers could not begin, for want of what the machine lacks.
        var shortages = 0
        /// How often a stage of the chain could not decide.
        var stageFailures = 0
        /// The routes that are done with it: their handlers have succeeded or ended a loop, or they were put aside.
        var done: [String] = []
        /// The routes for which it was too old when their handlers would have started.
        var expired: [String] = []
        /// The routes that were switched off while it waited, and are to be put aside.
        var killed: [String] = []
        /// The layer that ended a loop for one of them.
        var loopEnd: LoopLayer?
        /// What was thrown last: its type, or what it says of itself.
        var cause: String?
        /// What the loop guard held it as; told its end.
        var held: HeldMessage?
        /// The turn that a breaker gave it, until it is handled.
        var turn: Turn?
        /// The older changes of its object that it takes the place of, oldest first, until the chain has passed it.
        var replaced: [Parcel] = []
        /// How it ended, where its transport is told only when the held routes have had it.
        var told: Outcome?
    }

    /// Its number in the inbox.
    let number: UInt64
    let bytes: Int
    /// With whom it shares what the service has.
    let keys: ShareKeys
    /// The transport that handed it over to a service whose inbox is not durable.
    let intake: Int?
    /// Whether it has one of the service's places.
    let hasPlace = Atomic<Bool>(false)
    let delivery: DeliverySettings
    let receipt: Receipt
    /// The routes that were switched off when it came, and whether it was as a whole; the others it waited for.
    let killed: (isWhole: Bool, routes: [String])
    /// Whether it was in flight when a process ended: it is run alone, so that the one that ends processes is found.
    let wasInFlightAtCrash: Bool
    /// Whether its lane waits for it: it is being handled, or tried again before those behind it.
    let hasLane = Atomic<Bool>(false)
    private let state: Mutex<Progress>

    init(
        _ number: UInt64, _ message: RoutedMessage, _ delivery: DeliverySettings, _ receipt: Receipt,
        killed: (isWhole: Bool, routes: [String]) = (false, []), wasInFlightAtCrash: Bool = false,
        keys: ShareKeys? = nil,
        intake: Int? = nil
    ) {
        self.number = number
        self.delivery = delivery
        self.receipt = receipt
        self.killed = killed
        self.wasInFlightAtCrash = wasInFlightAtCrash
        bytes = message.message.raw.bytes.count
        self.intake = intake
        self.keys =
            keys
            ?? ShareKeys(message, lane: delivery.place(of: message.message).map { .place($0) } ?? .alone(number))
        state = Mutex(Progress(message: message))
    }

    var lane: LaneKey { keys.lane }

    var progress: Progress {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }
}

extension Parcel.Progress {
    /// The routes that are to handle it still.
    var remaining: [Route] {
        message.routes.filter {
            !isDone($0.id) && !killed.containsExactly($0.id) && !expired.containsExactly($0.id)
        }
    }

    /// How it ends when no route is left that failed.
    var end: Outcome {
        if let loopEnd { return .looped(loopEnd) }
        return done.isEmpty && !expired.isEmpty ? .expired : .handled(succeeded)
    }

    /// The routes whose handlers have succeeded.
    var succeeded: MatchedRoutes { MatchedRoutes(message.routes.filter { isDone($0.id) }) }

    func isDone(_ route: String) -> Bool { done.containsExactly(route) }
}

extension DeliverySettings {
    /// What keeps a message in order with others; nil when nothing does.
    fileprivate func place(of message: PushMessage) -> ResourceKey? {
        guard let orderKey else { return ResourceKey(order, of: message) }
        return orderKey.text(of: message).map { ResourceKey(own: $0) }
    }
}

/// What keeps parcels in order.
enum LaneKey: Hashable, Sendable {
    /// All of one object, topic or sender, or of one text of the user's own.
    case place(ResourceKey)
    /// A parcel in no order.
    case alone(UInt64)
}

extension PushReceiver {
    /// The routes that have not handled a message: those that pass, are held or were switched off; where the chain has
    /// stopped all, those that the table gives it.
    func openRoutes(of progress: Parcel.Progress) -> [String] {
        let left = progress.remaining.map(\.id) + progress.killed + progress.message.held.ids
        return left.isEmpty ? match(progress.message.message).ids.filter { !progress.isDone($0) } : left
    }
}
