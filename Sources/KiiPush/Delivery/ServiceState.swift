/// All that changes in a service.
struct ServiceState {
    /// What a service is about.
    enum Phase {
        case new
        /// What an earlier process left is being handled; nothing new is taken in.
        case recovering
        case open
        /// Nothing is taken in or begun.
        case stopping
        /// What has not ended is left.
        case stopped
    }

    var phase = Phase.new
    /// Whether handlers are asked to return, since the time to drain is over.
    var isCancelling = false
    var lanes: Lanes
    /// Those that are tried again, the next one first.
    var retries: [(due: MonotonicInstant, parcel: Parcel)] = []
    /// The handlers that run, by number.
    var runs: [UInt64: (run: HandlerRun, deadline: MonotonicInstant)] = [:]
    var lastRun: UInt64 = 0
    /// How many parcels there are but for those that the loop guard holds, and their bytes.
    var messages = 0
    var bytes = 0
    /// How many parcels are being handled.
    var handling = 0
    /// Whether one is that must be alone, and one that waits until nothing else is.
    var isAlone = false
    var nextAlone: Parcel?
    /// How many tasks end a parcel without handling it.
    var ending = 0
    var overrunning = 0
    /// Those that the loop guard holds, by the number under which it does.
    var parked: [UInt64: Parcel] = [:]
    /// Those that wait for the end of the message that they repeat.
    var copies: [ObjectIdentifier: Parcel] = [:]
    /// Who waits for room; of each intake, whom to call, and what was refused last.
    var roomWaiters: [UInt64: (intake: Int, waiter: CheckedContinuation<Void, Never>)] = [:]
    var lastWaiter: UInt64 = 0
    var roomActions: [Int: @Sendable () -> Void] = [:]
    var refused: [Int: (count: Int, bytes: Int)] = [:]
    /// Who waits until all messages have ended, and who until nobody does anything.
    var idleWaiter: CheckedContinuation<Void, Never>?
    var quietWaiter: CheckedContinuation<Void, Never>?
    /// The timer's sleep, and until when.
    var sleep: (until: MonotonicInstant, task: Task<Void, Never>)?
    /// The sleeps before a note is tried again, which end when the service stops.
    var pauses: [UInt64: Task<Void, Never>] = [:]
    var lastPause: UInt64 = 0
    /// What cancels the handlers when the time to drain is over.
    var drain: Task<Void, Never>?
    /// What became of the messages since it stops.
    var report = DrainReport()

    init(_ settings: ServiceSettings) { lanes = Lanes(concurrency: settings.concurrency) }
}

extension ServiceState {
    /// Whether payloads of an earlier process or of transports are delivered.
    var isRunning: Bool { phase == .open || phase == .recovering }

    // MARK: Work

    /// The parcel whose turn it is, which counts as handled from now on.
    mutating func next(_ settings: ServiceSettings) -> Parcel? {
        guard phase == .open, !isAlone, handling < max(settings.concurrency, 1) else { return nil }
        guard let parcel = nextAlone ?? lanes.next() else { return nil }
        if parcel.isSuspect {
            guard handling == 0 else {
                nextAlone = parcel
                return nil
            }
            (nextAlone, isAlone) = (nil, true)
        }
        handling += 1
        return parcel
    }

    /// The parcel behind one that has ended in its lane, whose end its worker takes down together with the beginning of
    /// this one.
    mutating func next(behind parcel: Parcel, _ settings: ServiceSettings) -> Parcel? {
        guard phase == .open, !isAlone, nextAlone == nil, handling < max(settings.concurrency, 1),
            let next = lanes.next(behind: parcel)
        else { return nil }
        handling += 1
        return next
    }

    /// Takes down that a parcel is not handled any more.
    mutating func leaveOff(_ parcel: Parcel) {
        handling -= 1
        lanes.leaveOff(parcel)
        if parcel.isSuspect { isAlone = false }
    }

    // MARK: Waiters

    /// Those who may go on now.
    struct Wake {
        var waiters: [CheckedContinuation<Void, Never>] = []
        var actions: [@Sendable () -> Void] = []

        func callAsFunction() {
            for waiter in waiters { waiter.resume() }
            for action in actions { action() }
        }
    }

    /// Takes out those for whom there is room, or who wait for the end of all work.
    mutating func takeWoken(_ settings: ServiceSettings) -> Wake {
        var wake = Wake()
        if !roomWaiters.isEmpty {
            for (number, waiter) in roomWaiters where mayCome(waiter.intake, settings) {
                roomWaiters[number] = nil
                wake.waiters.append(waiter.waiter)
            }
        }
        if !roomActions.isEmpty {
            for (intake, action) in roomActions where mayCome(intake, settings) {
                roomActions[intake] = nil
                wake.actions.append(action)
            }
        }
        if let waiter = idleWaiter, isIdle {
            idleWaiter = nil
            wake.waiters.append(waiter)
        }
        if let waiter = quietWaiter, isQuiet {
            quietWaiter = nil
            wake.waiters.append(waiter)
        }
        return wake
    }

    /// Whether nothing is left to do now; what is held may take an hour.
    var isIdle: Bool { messages == 0 || !isRunning }
    /// Whether nobody does anything.
    var isQuiet: Bool { handling == 0 && ending == 0 }

    // MARK: Room

    /// Whether there is room for payloads; what is larger than all there may be comes alone.
    func hasRoom(_ count: Int, _ bytes: Int, _ settings: ServiceSettings) -> Bool {
        if messages == 0 { return true }
        return messages + count <= settings.messages && self.bytes + bytes <= settings.bytes
    }

    /// Whether it is worth while to call one who waits with payloads: they have room, and a quarter of all is free, or
    /// he would come for one each.
    func mayCome(_ intake: Int, _ settings: ServiceSettings) -> Bool {
        let (count, bytes) = refused[intake] ?? (1, 0)
        guard phase == .open, messages > 0 else { return true }
        guard messages <= settings.messages / 4 * 3, self.bytes <= settings.bytes / 4 * 3 else { return false }
        return hasRoom(count, bytes, settings)
    }
}
