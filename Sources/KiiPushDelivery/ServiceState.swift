import KiiPush
import Synchronization

/// The mutable state of a service, behind one lock.
///
/// Its members follow the path of a message: accepted, in its lane, handled, waiting elsewhere. After each change,
/// ``takeEffects()`` returns the effects: which deliveries begin, and which waiters resume.
struct ServiceState {
    /// The phases of a service, in order.
    enum Phase: Int, Comparable {
        case new
        /// The payloads of an earlier process are being read; nothing is accepted or begun.
        case reading
        /// Messages that were in flight when that process ended run, one at a time; all others wait.
        case recovering
        case open
        /// Nothing is accepted or begun; running handlers may finish.
        case stopping
        /// The drain time is over, and handlers are cancelled.
        case cancelling
        /// Messages that have not ended are left.
        case stopped

        /// Whether payloads are accepted, if the inbox works.
        var acceptsPayloads: Bool { self == .open || self == .recovering }

        static func < (left: Phase, right: Phase) -> Bool { left.rawValue < right.rawValue }
    }

    /// Whether a delivery that was in flight at a crash runs alone.
    enum Alone {
        case none
        /// It begins when no other message is being handled.
        case next(Delivery)
        case handling
    }

    var phase = Phase.new
    /// The transports; released when it runs, because a transport may keep its intake, which keeps the service.
    var transports: [any PushTransport]
    /// The settings for messages whose route has none.
    var delivery: DeliverySettings
    let settings: ServiceSettings
    /// Whether the inbox is durable, so that payloads without a place may wait there.
    let isDurable: Bool

    // Accepted payloads.

    /// The places of all deliveries.
    var places: Places
    /// The places of each transport, if the inbox is not durable.
    var intakes = IntakePlaces()
    /// How many payloads are being added to the inbox, and how many are being dead-lettered without a place.
    var arriving = 0
    var unplaced = 0
    /// The payloads in the inbox without a place; whether some are being read, and the pause after a failure.
    var spill: Spill
    var isReading = false
    var readPause = Duration.zero
    /// Reads payloads back, while the service runs.
    var reader: (@Sendable ([Spill.Item]) -> Void)?

    /// The gaps that are being handled, and those that the inbox has not kept yet; the names of the transports, which
    /// wait for them.
    var gaps = OpenGaps()
    private let transportNames: [String]

    // Handling.

    var lanes: Lanes
    /// Those that will be in the lanes once the suspects have run, in order.
    var behindSuspects: [Delivery] = []
    /// How many deliveries are in progress, until their end or their next wait is recorded.
    var inFlight = 0
    /// How many may be in progress beyond the handlers' places: it grows while they wait for these no longer than for
    /// writes.
    var ahead = 0
    var alone = Alone.none
    /// How many tasks are ending a delivery without handling it.
    var ending = 0
    /// The runs of handlers, waiting and running, by number; how many handlers still run that were left behind.
    var runs: [UInt64: HandlerRun] = [:]
    var lastRun: UInt64 = 0
    var overrunning = 0
    /// The runs that wait for a place, in order; the use of the places.
    var waitingRuns: [(number: UInt64, keys: ShareKeys?)] = []
    var running: Running

    // Waiting elsewhere.

    /// The deliveries to be tried or asked for again, the next one first.
    var retries: [(due: MonotonicInstant, delivery: Delivery)] = []
    /// The messages that did not fit into the dead-letter store, and when that is tried again.
    var putOff = ShortQueue<PutOff>()
    var storeAgainAt: MonotonicInstant?

    // Waiters.

    /// The waiters for capacity; for each intake, its action and its last refused payloads.
    var roomWaiters: [UInt64: (intake: Int, waiter: CheckedContinuation<Void, Never>)] = [:]
    var lastWaiter: UInt64 = 0
    var roomActions: [Int: @Sendable () -> Void] = [:]
    var refused: [Int: (count: Int, bytes: Int)] = [:]
    /// The waiter for the end of all messages, and the one for the end of all activity.
    var idleWaiter: CheckedContinuation<Void, Never>?
    var quietWaiter: CheckedContinuation<Void, Never>?
    /// The timer's sleep, its end, and whether an action is due before that.
    var sleep: (until: MonotonicInstant, task: Task<Void, Never>)?
    var isOversleeping = false
    /// The pauses before a record is tried again, which end when the service stops.
    var pauses: [UInt64: Task<Void, Never>] = [:]
    var lastPause: UInt64 = 0
    /// Cancels the handlers after the drain time.
    var drain: Task<Void, Never>?
    /// What fails now: the last call of each of these uses of a store failed.
    var failures: [StoreUse: String] = [:]
    /// The counts since the service began to stop.
    var report = DrainReport()

    init(
        _ settings: ServiceSettings, _ delivery: DeliverySettings, _ transports: [any PushTransport], isDurable: Bool
    ) {
        self.settings = settings
        self.delivery = delivery
        self.transports = transports
        self.isDurable = isDurable
        transportNames = transports.map(\.name)
        lanes = Lanes()
        running = Running(most: max(settings.concurrency, 1))
        places = Places(settings)
        spill = Spill(settings)
    }

    /// Whether it delivers payloads, of an earlier process or of transports.
    var isRunning: Bool { phase.acceptsPayloads || phase == .reading }

    /// Whether all messages have ended.
    var isIdle: Bool { !isRunning || messages == 0 && arriving == 0 && unplaced == 0 && onDisk == 0 }

    /// Whether there is no activity; a payload that is being added to the inbox counts as activity.
    var isQuiet: Bool { inFlight == 0 && ending == 0 && arriving == 0 }

    /// Whether a transport's new payloads wait for the handling of a gap.
    func isBehindGap(_ intake: Int) -> Bool { !gaps.isEmpty && gaps.blocks(transportNames[intake]) }

    /// How many deliveries may be in progress at once.
    var window: Int { min(running.most + ahead, max(settings.inFlight, running.most)) }
}

// MARK: - Handling

extension ServiceState {
    /// Begins the delivery whose turn it is.
    mutating func next() -> Delivery? {
        if phase == .recovering {
            if inFlight > 0 { return nil }
            if let suspect = lanes.next(among: 1) {
                (inFlight, alone) = (1, .handling)
                return suspect
            }
            endRecovery()
        }
        guard phase == .open, inFlight < window else { return nil }
        let delivery: Delivery
        switch alone {
        case .handling: return nil
        case .next(let waiting): delivery = waiting
        case .none:
            guard let next = lanes.next(among: window) else { return nil }
            delivery = next
        }
        if delivery.isSuspect {
            guard inFlight == 0 else {
                alone = .next(delivery)
                return nil
            }
            alone = .handling
        }
        inFlight += 1
        return delivery
    }

    /// Begins the delivery behind one that has ended in its lane; the end and the beginning are recorded together.
    mutating func next(behind ended: inout Ended?) -> Delivery? {
        guard phase == .open, case .none = alone, inFlight < window, var last = ended,
            let next = lanes.next(behind: &last.delivery, among: window)
        else { return nil }
        ended = last
        inFlight += 1
        return next
    }

    /// Lets all others go on once each suspect has run or waits for something else.
    private mutating func endRecovery() {
        phase = .open
        for delivery in behindSuspects { queue(delivery) }
        behindSuspects = []
        if let due = retries.first?.due { wakeTimer(by: due) }
    }

    /// Lets a delivery wait until it is due, after those that are due at the same time.
    mutating func retry(_ delivery: Delivery, at due: MonotonicInstant) {
        let index = retries.lastIndex { $0.due <= due }.map { $0 + 1 } ?? 0
        retries.insert((due, delivery), at: index)
        wakeTimer(by: due)
    }

    /// Records that a delivery is no longer in progress; `last` is as it was when it began.
    mutating func leaveOff(_ last: Delivery) {
        inFlight -= 1
        lanes.leaveOff(last.ticket.keys)
        if last.isSuspect { alone = .none }
    }

    /// Wakes the timer at this time or earlier.
    mutating func wakeTimer(by instant: MonotonicInstant) {
        if let sleep, sleep.until > instant { isOversleeping = true }
    }

    /// When the timer has to wake.
    var nextDue: MonotonicInstant? {
        let ends = runs.values.lazy.compactMap(\.deadline).min()
        // A stopping service does not retry.
        guard isRunning else { return ends }
        let retry = phase == .recovering ? nil : retries.first?.due
        return [ends, retry, storeAgainAt].compactMap(\.self).min()
    }
}

// MARK: - Effects

extension ServiceState {
    /// The effects of a change, to be carried out without the lock.
    struct Effects {
        /// The deliveries whose turn it is.
        var deliveries: [Delivery] = []
        var waiters: [CheckedContinuation<Void, Never>] = []
        var actions: [@Sendable () -> Void] = []
        /// The timer's sleep, to be ended.
        var sleep: Task<Void, Never>?
    }

    /// Takes the deliveries whose turn it is, the waiters that have capacity, and those for the end of all activity.
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
            // Set at once, so that nothing begins before the waiter resumes.
            phase = .stopped
            effects.waiters.append(waiter)
        }
        if isOversleeping {
            isOversleeping = false
            effects.sleep = sleep?.task
        }
        return effects
    }

    /// Starts to read back payloads that have places, unless some are being read.
    private mutating func startReading(_ effects: inout Effects) {
        guard let reader, phase == .open, !isReading else { return }
        let items = spill.take(&places)
        if items.isEmpty { return }
        isReading = true
        ending += 1
        effects.actions.append { reader(items) }
    }
}
