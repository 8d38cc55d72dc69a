import KiiPush
import Synchronization

/// All that changes in a service, behind its one lock.
///
/// It reads from top to bottom as a message goes: accepted, in its lane, handled, waiting elsewhere. Whatever changes
/// it, ``takeEffects()`` then says what follows: which deliveries begin, and who goes on that has waited.
struct ServiceState {
    /// What a service is about, in this order.
    enum Phase: Int, Comparable {
        case new
        /// What an earlier process left is being handled; nothing new is accepted.
        case recovering
        case open
        /// Nothing is accepted or begun; handlers that run may finish.
        case stopping
        /// The time to drain is over, and handlers are asked to return.
        case cancelling
        /// What has not ended is left.
        case stopped

        static func < (left: Phase, right: Phase) -> Bool { left.rawValue < right.rawValue }
    }

    /// Whether a delivery has the service for itself that was in flight at a crash.
    enum Alone {
        case none
        /// It begins when nothing else is handled.
        case next(Delivery)
        case handling
    }

    var phase = Phase.new
    /// What brings payloads; let go when it runs, since a transport may keep its intake, which keeps the service.
    var transports: [any PushTransport]
    /// How messages are delivered whose route says nothing else.
    var delivery: DeliverySettings
    let settings: ServiceSettings
    /// Whether the inbox is durable, so that payloads without a place may wait there.
    let isDurable: Bool

    // What is accepted.

    /// The places of all deliveries but those that the loop guard holds.
    var places: Places
    /// What has places of each transport of a service whose inbox is not durable.
    var intakes = IntakePlaces()
    /// How many payloads are on their way into the inbox, and how many are being dead-lettered without a place.
    var arriving = 0
    var unplaced = 0
    /// What waits in the inbox without a place; whether some of it is being read, and how long to wait when that
    /// failed.
    var spill: Spill
    var isReading = false
    var readPause = Duration.zero
    /// Reads payloads back; while the service runs.
    var reader: (@Sendable ([Spill.Item]) -> Void)?

    // What is handled.

    var lanes: Lanes
    /// How many deliveries walk: their end is to be recorded, or where they wait next.
    var inFlight = 0
    /// How many may walk beyond the places of the handlers: it grows while they wait for these no longer than for
    /// writes.
    var ahead = 0
    var alone = Alone.none
    /// How many tasks end a delivery without handling it.
    var ending = 0
    /// The handlers that run or are to run, by number; how many run still that the service goes on without.
    var runs: [UInt64: HandlerRun] = [:]
    var lastRun: UInt64 = 0
    var overrunning = 0
    /// Those that wait for a place, in the order in which they came; who has the places.
    var waitingRuns: [(number: UInt64, keys: ShareKeys?)] = []
    var running: Running

    // What waits elsewhere.

    /// Those that are tried again, the next one first.
    var retries: [(due: MonotonicInstant, delivery: Delivery)] = []
    /// Those that the loop guard holds, by the number under which it does.
    var parked: [UInt64: Delivery] = [:]
    /// Those that wait for the end of the message that they repeat, by their own number.
    var copies: [UInt64: Delivery] = [:]
    /// What waits in the inbox since the dead letters had no room for it, and when that is tried again.
    var putOff = ShortQueue<PutOff>()
    var storeAgainAt: MonotonicInstant?

    // Who waits.

    /// Who waits for room; of each intake, whom to call, and what was refused last.
    var roomWaiters: [UInt64: (intake: Int, waiter: CheckedContinuation<Void, Never>)] = [:]
    var lastWaiter: UInt64 = 0
    var roomActions: [Int: @Sendable () -> Void] = [:]
    var refused: [Int: (count: Int, bytes: Int)] = [:]
    /// Who waits until all messages have ended, and who until nobody does anything.
    var idleWaiter: CheckedContinuation<Void, Never>?
    var quietWaiter: CheckedContinuation<Void, Never>?
    /// The timer's sleep, until when, and whether something is due before that.
    var sleep: (until: MonotonicInstant, task: Task<Void, Never>)?
    var isOversleeping = false
    /// The sleeps before a record is tried again, which end when the service stops.
    var pauses: [UInt64: Task<Void, Never>] = [:]
    var lastPause: UInt64 = 0
    /// What cancels the handlers when the time to drain is over.
    var drain: Task<Void, Never>?
    /// What became of the messages since it stops.
    var report = DrainReport()

    init(
        _ settings: ServiceSettings, _ delivery: DeliverySettings, _ transports: [any PushTransport], isDurable: Bool
    ) {
        self.settings = settings
        self.delivery = delivery
        self.transports = transports
        self.isDurable = isDurable
        lanes = Lanes()
        running = Running(most: max(settings.concurrency, 1))
        places = Places(settings)
        spill = Spill(settings)
    }

    /// Whether payloads of an earlier process or of transports are delivered.
    var isRunning: Bool { phase == .open || phase == .recovering }

    /// Whether nothing is left to do now; what is held may take an hour.
    var isIdle: Bool { !isRunning || messages == 0 && arriving == 0 && unplaced == 0 && onDisk == 0 }

    /// Whether nobody does anything; a payload on its way into the inbox is counted among those that are left there.
    var isQuiet: Bool { inFlight == 0 && ending == 0 && arriving == 0 }

    /// How many deliveries may walk at once.
    var window: Int { min(running.most + ahead, max(settings.inFlight, running.most)) }
}

// MARK: - Handling

extension ServiceState {
    /// The delivery whose turn it is, which walks from now on.
    mutating func next() -> Delivery? {
        guard phase == .open, inFlight < window else { return nil }
        let delivery: Delivery
        switch alone {
        case .handling: return nil
        case .next(let waiting): delivery = waiting
        case .none:
            guard let next = lanes.next(among: window) else { return nil }
            delivery = next
        }
        if delivery.ticket.wasInFlightAtCrash {
            guard inFlight == 0 else {
                alone = .next(delivery)
                return nil
            }
            alone = .handling
        }
        inFlight += 1
        return delivery
    }

    /// The delivery behind one that has ended in its lane, whose end is recorded together with the beginning of this
    /// one.
    mutating func next(behind ended: inout Ended?) -> Delivery? {
        guard phase == .open, case .none = alone, inFlight < window, var last = ended,
            let next = lanes.next(behind: &last.delivery, among: window)
        else { return nil }
        ended = last
        inFlight += 1
        return next
    }

    /// Takes the next delivery of an earlier process that is to be alone.
    mutating func nextRecovered() -> Delivery? {
        guard phase == .recovering, let delivery = lanes.next(among: 1) else { return nil }
        (inFlight, alone) = (1, .handling)
        return delivery
    }

    /// Takes down that a delivery does not walk any more.
    mutating func leaveOff(_ ticket: Ticket) {
        inFlight -= 1
        lanes.leaveOff(ticket.keys)
        if ticket.wasInFlightAtCrash { alone = .none }
    }

    /// Has the timer look at this time, or before.
    mutating func wakeTimer(by instant: MonotonicInstant) {
        if let sleep, sleep.until > instant { isOversleeping = true }
    }

    /// When the timer has to look again.
    var nextDue: MonotonicInstant? {
        let ends = runs.values.lazy.compactMap(\.deadline).min()
        // What stops tries nothing again.
        guard isRunning else { return ends }
        return [ends, retries.first?.due, storeAgainAt].compactMap(\.self).min()
    }
}

// MARK: - What follows

extension ServiceState {
    /// What follows from a change, to be done without the lock.
    struct Effects {
        /// Those whose turn it is.
        var deliveries: [Delivery] = []
        var waiters: [CheckedContinuation<Void, Never>] = []
        var actions: [@Sendable () -> Void] = []
        /// The timer's sleep that is to end.
        var sleep: Task<Void, Never>?
    }

    /// Takes out those whose turn it is, those for whom there is room, and who waits for the end of all work.
    mutating func takeEffects() -> Effects {
        var effects = Effects()
        while let delivery = next() { effects.deliveries.append(delivery) }
        if !spill.isEmpty { startReading(&effects) }
        if !roomWaiters.isEmpty {
            for (number, waiter) in roomWaiters where mayCome(waiter.intake) {
                roomWaiters[number] = nil
                effects.waiters.append(waiter.waiter)
            }
        }
        if !roomActions.isEmpty {
            for (intake, action) in roomActions where mayCome(intake) {
                roomActions[intake] = nil
                effects.actions.append(action)
            }
        }
        if isIdle, let waiter = idleWaiter.take() { effects.waiters.append(waiter) }
        if isQuiet, let waiter = quietWaiter.take() {
            // At once: nobody begins anything between here and when that one goes on.
            phase = .stopped
            effects.waiters.append(waiter)
        }
        if isOversleeping {
            isOversleeping = false
            effects.sleep = sleep?.task
        }
        return effects
    }

    /// Has payloads read back for which there are places, unless some are being read.
    private mutating func startReading(_ effects: inout Effects) {
        guard let reader, phase == .open, !isReading else { return }
        let items = spill.take(&places)
        if items.isEmpty { return }
        isReading = true
        ending += 1
        effects.actions.append { reader(items) }
    }
}
