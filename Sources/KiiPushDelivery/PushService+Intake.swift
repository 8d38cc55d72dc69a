// Taking payloads in: room, inbox, lane.

import KiiPush
import Synchronization

/// What one transport of a service has of it.
struct TransportIntake: IntakeService {
    let service: PushService
    /// Which transport, since two may have one name.
    let number: Int

    package var isDurable: Bool { service.inbox.isDurable }

    package func submit(_ payloads: [RawPayload]) throws(IntakeRefusal) -> [Receipt] {
        try service.submit(payloads, number)
    }

    package func room() async { await service.room(number) }

    package func pause(_ length: Duration) async {
        let clock = service.clock
        try? await clock.sleep(until: clock.now.advanced(by: length))
    }

    package func whenRoom(_ transport: String, _ action: @escaping @Sendable () -> Void) {
        service.whenRoom(number, action)
    }

    package func report(_ event: TransportEvent, _ transport: String) { service.tell(.transport(transport, event)) }
}

extension PushService {
    fileprivate func submit(_ payloads: [RawPayload], _ intake: Int) throws(IntakeRefusal) -> [Receipt] {
        try reserve(payloads, intake)
        let decoded = payloads.map { payload in
            Result { () throws(DecodeError) in try PushMessage(payload, limits: receiver.limits) }
        }
        let numbers: [UInt64]
        do {
            numbers = try add(payloads, decoded)
        } catch {
            cancel(payloads, intake)
            tell(.storeFailed("the inbox could not take \(counted(payloads.count, "payload")) in: \(error)"))
            throw .failed(error)
        }
        var parcels: [Parcel] = []
        var next = numbers.makeIterator()
        let receipts = zip(payloads, decoded).map { payload, decoded in
            let receipt = Receipt(isStored: inbox.isDurable)
            switch decoded {
            case .success(let message):
                let routed = receiver.prepare(message)
                parcels.append(parcel(next.next() ?? 0, routed, receipt, intake))
            case .failure(let error):
                let (outcome, _) = reject(payload, error)
                cancel([payload], intake)
                receipt.finish(outcome)
            }
            return receipt
        }
        accept(parcels)
        return receipts
    }

    /// Puts those that are messages into the inbox; their numbers, in order.
    private func add(
        _ payloads: [RawPayload], _ decoded: [Result<PushMessage, DecodeError>]
    ) throws -> [UInt64] {
        let messages = zip(payloads, decoded).filter { if case .success = $0.1 { true } else { false } }.map(\.0)
        let numbers = messages.isEmpty ? [] : try inbox.add(messages)
        guard numbers.count == messages.count else {
            throw InboxMiscounted(payloads: messages.count, numbers: numbers.count)
        }
        return numbers
    }

    /// A parcel of a message, delivered as its first route asks.
    private func parcel(_ number: UInt64, _ message: RoutedMessage, _ receipt: Receipt, _ intake: Int) -> Parcel {
        let settings = message.routes.first?.delivery ?? delivery.withLock { $0 }
        let killed = receiver.loopGuard?.kills(of: message, message.routes) ?? (false, [])
        return Parcel(number, message, settings, receipt, killed: killed, intake: intake)
    }

    /// A parcel of a message that an earlier process took in, or that has waited without a place.
    func parcel(_ entry: InboxEntry, _ message: RoutedMessage, _ item: Spill.Item? = nil) -> Parcel {
        let settings = message.routes.first?.delivery ?? delivery.withLock { $0 }
        let receipt = item?.receipt ?? Receipt(isStored: inbox.isDurable)
        let parcel = Parcel(
            entry.id, message, settings, receipt, killed: item?.killed ?? (false, []),
            wasInFlightAtCrash: entry.crashes > 0,
            keys: item?.keys)
        var progress = parcel.progress
        (progress.attempts, progress.done) = (entry.attempts, entry.handled)
        parcel.progress = progress
        return parcel
    }

    /// Puts a payload aside that no delivery will make a message; whether the dead letters had room for it.
    ///
    /// One that came now and that there is no room for is told of and let go: garbage must not keep messages from coming.
    func reject(
        _ payload: RawPayload, _ error: DecodeError, inboxID: UInt64? = nil
    ) -> (outcome: Outcome, isKept: Bool) {
        let outcome = receiver.undecodable(payload, error)
        var letter = DeadLetter(
            payload: payload, reason: .undecodable, routes: [], arrivedAt: payload.arrivedAt ?? clock.now)
        (letter.cause, letter.inboxID) = (error.code.rawValue, inboxID)
        letter.keys = DeadLetter.Key.keys(undecodable: payload)
        do {
            try receiver.putAside(letter)
            return (outcome, true)
        } catch {
            tell(.storeFailed("a payload that is no push could not be put aside: \(error)"))
            return (outcome, false)
        }
    }

    /// Puts parcels that have a place into their lanes, and starts what can be.
    func queue(_ parcels: [Parcel]) {
        let isOver = state.withLock { state in
            if state.phase == .stopped { return true }
            for parcel in parcels { state.queue(parcel) }
            return false
        }
        // Handed over by a transport that did not wait for its service.
        if isOver { for parcel in parcels { leave(parcel, parcel.progress) } }
        startWork()
    }

    /// Puts parcels of a transport into their lanes, as far as they find places, and starts what can be.
    private func accept(_ parcels: [Parcel]) {
        guard inbox.isDurable else {
            for parcel in parcels { parcel.hasPlace.store(true, ordering: .relaxed) }
            return queue(parcels)
        }
        var without: [(parcel: Parcel, answer: Spill.Answer)] = []
        let (isOver, wake) = state.withLock { state in
            state.arriving -= parcels.count
            if state.phase == .stopped { return (true, ServiceState.Wake()) }
            for parcel in parcels {
                guard let answer = state.admit(parcel) else { continue }
                if case .waits(let replaced) = answer, replaced.isEmpty { continue }
                if case .refused = answer { state.putAside += 1 }
                without.append((parcel, answer))
            }
            return (false, state.takeWoken(settings))
        }
        if isOver { for parcel in parcels { leave(parcel, parcel.progress) } }
        for (parcel, answer) in without { end(parcel, answer) }
        startWork()
        wake()
    }

    // MARK: Room

    private func reserve(_ payloads: [RawPayload], _ intake: Int) throws(IntakeRefusal) {
        let use = Use(payloads)
        let answer: Result<Void, IntakeRefusal> = state.withLock { state in
            guard state.phase == .open else { return .failure(.stopping) }
            guard state.hasRoom(use.messages, use.bytes, intake, settings) else {
                state.refused[intake] = (use.messages, use.bytes)
                return .failure(.full)
            }
            if !state.refused.isEmpty { state.refused[intake] = nil }
            if inbox.isDurable { state.arriving += use.messages } else { state.reserve(use, intake) }
            return .success(())
        }
        try answer.get()
    }

    /// Gives back what was reserved for payloads that do not come, and calls those who wait for it.
    private func cancel(_ payloads: [RawPayload], _ intake: Int) {
        let use = Use(payloads)
        let wake = state.withLock { state in
            if inbox.isDurable {
                state.arriving -= use.messages
            } else {
                state.reserve(Use(messages: -use.messages, bytes: -use.bytes), intake)
            }
            return state.takeWoken(settings)
        }
        wake()
    }

    fileprivate func room(_ intake: Int) async {
        let number = state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                let isOver = state.withLock { state in
                    if state.mayCome(intake, settings) || Task.isCancelled { return true }
                    state.roomWaiters[number] = (intake, waiter)
                    return false
                }
                if isOver { waiter.resume() }
            }
        } onCancel: {
            state.withLock { $0.roomWaiters.removeValue(forKey: number) }?.waiter.resume()
        }
    }

    fileprivate func whenRoom(_ intake: Int, _ action: @escaping @Sendable () -> Void) {
        let isNow = state.withLock { state in
            if state.mayCome(intake, settings) { return true }
            state.roomActions[intake] = action
            return false
        }
        if isNow { action() }
    }
}

/// An inbox gave another number of numbers than it was given payloads; it breaks its promise.
struct InboxMiscounted: Error {
    let payloads: Int
    let numbers: Int
}

extension Parcel {
    /// Takes out of the lane the older changes of this one's object that have not been tried, to be replaced by this one.
    func takeOlder(from lanes: inout Lanes) {
        var own = progress
        guard case .place = lane, !own.message.routes.isEmpty else { return }
        let older = lanes.remove(from: lane) { other in
            let older = other.progress
            guard other.delivery.replacesOlder, !other.wasInFlightAtCrash, older.attempts == 0,
                older.stageFailures == 0,
                older.turn == nil,
                older.message.routes.elementsEqual(own.message.routes, by: ===)
            else { return false }
            return older.message.message.isOlder(than: own.message.message)
        }
        if older.isEmpty { return }
        for parcel in older {
            var progress = parcel.progress
            own.replaced += progress.replaced + [parcel]
            progress.replaced = []
            parcel.progress = progress
        }
        progress = own
    }
}

extension Use {
    fileprivate init(_ payloads: [RawPayload]) {
        self.init(messages: payloads.count, bytes: payloads.reduce(0) { $0 + $1.bytes.count })
    }
}

extension PushMessage {
    /// Whether it tells of an earlier change of the same object.
    ///
    /// Not where a time is the same or missing: it may be the same change once more, and for the deduplicator the one
    /// that replaces would repeat the one that it has replaced.
    fileprivate func isOlder(than other: PushMessage) -> Bool {
        guard storage.classified.hasObject, let object, object == other.object else { return false }
        if let own = modifiedAt, let others = other.modifiedAt, own >= others { return false }
        if let own = sentAt, let others = other.sentAt { return own < others }
        return modifiedAt != nil && other.modifiedAt != nil
    }
}
