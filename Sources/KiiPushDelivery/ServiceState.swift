import KiiPush

/// The mutable state of a service, behind one lock, along the path of a message: accepted, waiting, handled.
struct ServiceState {
    /// The phases of a service, in order.
    enum Phase: Comparable {
        case new
        /// The payloads of an earlier process are being read; nothing is accepted or begun.
        case reading
        case open
        /// Nothing is accepted or begun; running handlers may finish.
        case stopping
        /// The drain time is over, and handlers are cancelled.
        case cancelling
        /// Messages that have not ended are left.
        case stopped
    }

    var phase = Phase.new
    /// The transports; released when it runs, because a transport may keep its intake, which keeps the service.
    var transports: [any PushTransport]
    /// The settings for messages whose route has none.
    var delivery: DeliverySettings
    let settings: ServiceSettings

    // Accepted payloads.

    /// How many payloads are being added to the inbox.
    var arriving = 0
    /// How many transports have not returned.
    var runningTransports = 0
    /// For each intake, its last refused payloads.
    var refused: [Int: Use] = [:]
    /// The gaps that are being handled, and those that the inbox has not kept yet; the names of the transports, which
    /// wait for them.
    var gaps = OpenGaps()
    private let transportNames: [String]

    // Waiting.

    /// The messages that wait, and the use of memory by all.
    var room: WaitingRoom
    /// The payloads that each transport has dropped and, for no transport, the dead letters that were merged.
    var losses: [String?: Losses] = [:]

    // Handling.

    /// How many may be begun before a handler is free, so that the records of several share a write: it grows while
    /// they wait for a handler no longer than a few writes take.
    var ahead = 0
    /// Whether the one that is in progress was in flight at a crash, and runs alone.
    var isAlone = false
    /// How many tasks are ending deliveries without handling them.
    var ending = 0
    /// The numbers of the dead letters that are being replayed.
    var replayed: Set<UInt64> = []
    /// The runs of handlers, waiting and running, by number; how many handlers still run that were left behind.
    var runs: [UInt64: HandlerRun] = [:]
    var overrunning = 0
    /// The runs that wait for a place, by number; the use of the places.
    var waitingRuns = Turns<UInt64>()
    var running: Capacity

    // Waiters.

    /// What a waiter waits for.
    enum Condition: Hashable {
        case isIdle, isQuiet
        /// Room for an intake, or for a task of it by its number.
        case hasRoom(intake: Int, task: UInt64? = nil)
        /// The end of a pause, or this phase before it.
        case isOver(MonotonicInstant, last: Phase, number: UInt64)
    }

    /// The last number of a run or a waiter.
    private var lastNumber: UInt64 = 0
    /// Called once each, when their condition holds.
    var waiters: [Condition: @Sendable () -> Void] = [:]
    /// When a stopping service cancels the handlers, and then ends the retries of a failing inbox.
    var phaseEnd: MonotonicInstant?
    /// The timer's sleep, and its end; nil if nothing is due.
    var sleep: (until: MonotonicInstant?, task: Task<Void, Never>)?
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
        transportNames = transports.map(\.name)
        room = WaitingRoom(settings, isDurable: isDurable)
        running = Capacity(messages: max(settings.concurrency, 1), bytes: 0)
    }

    /// Whether it delivers payloads, of an earlier process or of transports.
    var isRunning: Bool { phase == .open || phase == .reading }

    /// How many deliveries are in progress, until their end or their next wait is recorded.
    var inFlight: Int { room.running.used.messages }

    /// How many messages that were in flight at a crash have yet to run alone, or do.
    var recovering: Int { room.suspects.count + (isAlone ? 1 : 0) }

    /// Whether all messages have ended; one that is being ended may have to wait again.
    var isIdle: Bool { !isRunning || room.memory.used.messages + room.disk.used.messages == 0 && isQuiet }

    /// Whether there is no activity; a payload that is being added to the inbox counts as activity.
    var isQuiet: Bool { inFlight == 0 && ending == 0 && arriving == 0 && room.reading == .none && replayed.isEmpty }

    /// How many deliveries may be in progress at once.
    var window: Int { min(places + ahead, room.running.most.messages) }

    /// How many handlers may run at once, besides those of replays.
    var places: Int { running.most.messages }

    mutating func nextNumber() -> UInt64 {
        lastNumber += 1
        return lastNumber
    }

    // MARK: Handling

    /// Begins the message whose turn it is; one that was in flight at a crash waits until it is alone.
    mutating func next() -> Delivery? {
        guard phase == .open, !isAlone, inFlight < window, inFlight == 0 || !room.hasSuspect,
            let delivery = room.nextSuspect() ?? room.next(among: window)
        else { return nil }
        isAlone = delivery.isSuspect
        return delivery
    }

    /// Begins the next message in the place of one that has ended, whose end is recorded with its beginning; if there
    /// is none, that one keeps its place until its end is recorded.
    mutating func next(inPlaceOf last: Delivery) -> Delivery? {
        leaveOff(last)
        if let next = next() { return next }
        room.running.add(Use(), last.ticket.keys)
        return nil
    }

    /// Records that the turn of a message is over.
    mutating func leaveOff(_ delivery: Delivery) {
        room.running.add(-Use(), delivery.ticket.keys)
        isAlone = false
    }

    /// Wakes the timer at this time or earlier.
    func wakeTimer(by instant: MonotonicInstant) {
        if let sleep, sleep.until.map({ $0 > instant }) ?? true { sleep.task.cancel() }
    }

    /// When the timer has to wake.
    var nextDue: MonotonicInstant? {
        let pauses = waiters.keys.map { if case .isOver(let end, _, _) = $0 { end } else { MonotonicInstant?.none } }
        return (runs.values.map(\.deadline) + pauses + [phaseEnd, room.later.first?.due]).compactMap(\.self).min()
    }

    // MARK: Capacity for transports

    /// Whether a transport may submit payloads now; with a durable inbox always, except while very many messages are
    /// being ended.
    func mayCome(_ use: Use, _ intake: Int) -> Bool {
        if isBehindGap(intake) { return false }
        if room.isDurable { return ending < room.memory.most.messages }
        return room.memory.fits(use) && (runningTransports < 2 || room.memory.isOpen(.transport(intake)))
    }

    /// Whether to call a waiting transport: its payloads fit, and so many others that it is not called for each single
    /// one.
    func mayCall(_ intake: Int) -> Bool {
        guard phase == .open else { return true }
        // It comes to have an unsaved gap saved.
        if isBehindGap(intake) { return gaps.areUnsaved }
        if room.isDurable { return ending <= room.memory.most.messages / 4 * 3 }
        let (memory, used) = (room.memory, room.memory.used)
        guard memory.fits(refused[intake] ?? Use()) else { return false }
        if runningTransports > 1 { return memory.isOpen(.transport(intake), isLow: true) }
        return used.messages <= memory.most.messages / 4 * 3 && used.bytes <= memory.most.bytes / 4 * 3
    }

    /// Whether a transport's new payloads wait for the handling of a gap.
    private func isBehindGap(_ intake: Int) -> Bool { gaps.blocks(transportNames[intake]) }

    // MARK: Effects

    /// What follows from a change, to be carried out without the lock: the messages that begin, those that are to be
    /// read, and what resumes waiters.
    mutating func takeEffects(
        _ now: () -> MonotonicInstant
    ) -> (deliveries: [Delivery], unread: [Ticket]?, actions: [@Sendable () -> Void]) {
        beginRuns(now)
        var deliveries: [Delivery] = []
        while let delivery = next() { deliveries.append(delivery) }
        let unread = phase == .open ? room.nextUnread() : nil
        var actions: [@Sendable () -> Void] = []
        for (condition, action) in waiters where holds(condition, now) {
            waiters[condition] = nil
            actions.append(action)
        }
        return (deliveries, unread, actions)
    }

    private func holds(_ condition: Condition, _ now: () -> MonotonicInstant) -> Bool {
        switch condition {
        case .isIdle: isIdle
        case .isQuiet: isQuiet
        case .hasRoom(let intake, _): mayCall(intake)
        case .isOver(let end, let last, _): phase >= last || end <= now()
        }
    }
}
