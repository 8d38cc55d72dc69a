import KiiPush
import Synchronization

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
    /// Whether the inbox is durable, so that payloads without a place may wait there.
    let isDurable: Bool
    /// The places of all parcels but those that the loop guard holds.
    var places: Places
    /// What has places of each transport of a service whose inbox is not durable.
    var intakes = IntakePlaces()
    /// What waits in the inbox without a place; whether some of it is being read, and how long to wait when that failed.
    var spill: Spill
    var isReading = false
    var readPause = Duration.zero
    /// Reads payloads back; while the service runs.
    var reader: (@Sendable ([Spill.Item]) -> Void)?
    /// What waits in the inbox since the dead letters had no room for it, when that is tried again, and whether it is.
    var putOff = ShortQueue<PutOff>()
    var storeAgainAt: MonotonicInstant?
    /// How many payloads are on their way into a durable inbox, and how many are being put aside that found no place.
    var arriving = 0
    var putAside = 0
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

    init(_ settings: ServiceSettings, isDurable: Bool) {
        self.isDurable = isDurable
        lanes = Lanes(concurrency: settings.concurrency)
        places = Places(settings)
        spill = Spill(settings)
    }
}

extension ServiceState {
    /// Whether payloads of an earlier process or of transports are delivered.
    var isRunning: Bool { phase == .open || phase == .recovering }

    // MARK: Work

    /// The parcel whose turn it is, which counts as handled from now on.
    mutating func next(_ settings: ServiceSettings) -> Parcel? {
        guard phase == .open, !isAlone, handling < max(settings.concurrency, 1) else { return nil }
        guard let parcel = nextAlone ?? lanes.next() else { return nil }
        if parcel.wasInFlightAtCrash {
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
        if parcel.wasInFlightAtCrash { isAlone = false }
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
        if !spill.isEmpty { startReading(&wake) }
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
    var isIdle: Bool { !isRunning || messages == 0 && arriving == 0 && putAside == 0 && onDisk == 0 }
    /// Whether nobody does anything.
    var isQuiet: Bool { handling == 0 && ending == 0 }

    // MARK: Room

    var messages: Int { places.used.messages }
    var bytes: Int { places.used.bytes }
    /// How many payloads wait in the inbox without a place.
    var onDisk: Int { spill.used.messages + putOff.count }

    /// Whether an intake may hand payloads over now; what is larger than all there may be comes alone.
    ///
    /// With a durable inbox it always may, but for a moment, while very much is being put aside.
    func hasRoom(_ count: Int, _ bytes: Int, _ intake: Int, _ settings: ServiceSettings) -> Bool {
        if isDurable { return putAside < max(settings.messages, 1) }
        if messages == 0 { return true }
        let limit = limit(intake, settings)
        return messages + count <= limit.messages && self.bytes + bytes <= limit.bytes
    }

    /// Whether it is worth while to call one who waits with payloads: they have room, and a quarter of all is free, or
    /// he would come for one each.
    func mayCome(_ intake: Int, _ settings: ServiceSettings) -> Bool {
        let (count, bytes) = refused[intake] ?? (1, 0)
        guard phase == .open else { return true }
        if isDurable { return putAside <= settings.messages / 4 * 3 }
        guard messages > 0 else { return true }
        let limit = limit(intake, settings)
        guard messages <= limit.messages / 4 * 3, self.bytes <= limit.bytes / 4 * 3 else { return false }
        return hasRoom(count, bytes, intake, settings)
    }

    /// All places but those that are kept for other intakes.
    private func limit(_ intake: Int, _ settings: ServiceSettings) -> Use {
        let all = Use(messages: settings.messages, bytes: settings.bytes)
        let kept = intakes.kept(forOthersThan: intake, all)
        return Use(messages: all.messages - kept.messages, bytes: all.bytes - kept.bytes)
    }

    /// Takes places for payloads of which nothing is known yet, or gives them back.
    mutating func reserve(_ use: Use, _ intake: Int) {
        places.add(use)
        intakes.add(use, intake)
    }

    /// Gives a parcel a place, if it has none.
    mutating func enter(_ parcel: Parcel) {
        guard !parcel.hasPlace.exchange(true, ordering: .relaxed) else { return }
        if isDurable {
            places.enter(parcel.keys, parcel.bytes)
        } else {
            reserve(Use(messages: 1, bytes: parcel.bytes), parcel.intake ?? -1)
        }
    }

    /// Takes its place from a parcel, if it has one.
    mutating func vacate(_ parcel: Parcel) {
        guard parcel.hasPlace.exchange(false, ordering: .relaxed) else { return }
        if isDurable {
            places.leave(parcel.keys, parcel.bytes)
        } else {
            reserve(Use(messages: -1, bytes: -parcel.bytes), parcel.intake ?? -1)
        }
    }

    // MARK: Without a place

    /// Puts a parcel of a durable inbox into its lane, or without a place where it finds none.
    ///
    /// - Returns: what became of it without a place; nil when it has one.
    mutating func admit(_ parcel: Parcel) -> Spill.Answer? {
        guard hasPlace(for: parcel) else { return spill.append(Spill.Item(parcel)) }
        enter(parcel)
        queue(parcel)
        return nil
    }

    /// Whether a parcel of a durable inbox may have a place, before all that waits for one.
    func hasPlace(for parcel: Parcel) -> Bool {
        !spill.holds(parcel.keys) && places.hasRoom(parcel.keys, parcel.bytes)
    }

    /// Puts a parcel behind those of its lane.
    mutating func queue(_ parcel: Parcel) {
        if parcel.delivery.replacesOlder { parcel.takeOlder(from: &lanes) }
        lanes.append(parcel)
    }

    /// Has payloads read back for which there are places, unless some are being read.
    private mutating func startReading(_ wake: inout Wake) {
        guard let reader, phase == .open, !isReading else { return }
        let items = spill.take(&places)
        if items.isEmpty { return }
        isReading = true
        ending += 1
        wake.actions.append { reader(items) }
    }
}
