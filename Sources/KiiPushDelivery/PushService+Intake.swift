// Accepts payloads: capacity, inbox, lane.

import KiiPush

struct TransportIntake: IntakeService {
    let service: PushService
    /// The number of the transport, because two may have the same name.
    let number: Int

    package var isDurable: Bool { service.isDurable }
    package var now: MonotonicInstant? { service.clock.now }

    package func submit(_ payloads: [RawPayload]) throws(IntakeRefusal) -> [Receipt] {
        try service.saveGaps()
        return try service.submit(payloads, number)
    }

    package func room() async { await service.room(number) }

    package func pause(_ length: Duration) async {
        let clock = service.clock
        try? await clock.sleep(until: clock.now.advanced(by: length))
    }

    package func whenRoom(_ transport: String, _ action: @escaping @Sendable () -> Void) {
        service.whenRoom(number, action)
    }

    package func report(_ event: TransportEvent, _ transport: String) {
        service.tell(.transport(transport, event))
        if case .possibleGap(let reason, let cause?) = event {
            service.open(Gap(cause, transport: transport, reason: reason))
        }
    }
}

extension PushService {
    /// Accepts payloads of a transport, or of none.
    func submit(_ payloads: [RawPayload], _ intake: Int?) throws(IntakeRefusal) -> [Receipt] {
        let standard = try reserve(payloads, intake)
        let decoded = payloads.map { payload in
            Result { () throws(DecodeError) in try receiver.decode(payload) }
        }
        let numbers: [UInt64]
        do {
            numbers = try add(payloads, decoded)
        } catch {
            cancel(payloads, intake)
            fails(.adding, "the inbox could not store \(counted(payloads.count, "payload")): \(error)")
            throw .failed(error)
        }
        if !numbers.isEmpty { works(.adding) }
        var deliveries: [Delivery] = []
        var next = numbers.makeIterator()
        let passesAnswer = intake.map { abilities[$0].contains(.answers) } ?? false
        let receipts = zip(payloads, decoded).map { payload, decoded in
            let receipt = Receipt(isStored: isDurable, passesAnswer: passesAnswer)
            switch decoded {
            case .success(let message):
                deliveries.append(delivery(next.next() ?? 0, message, standard, receipt, intake))
            case .failure(let error):
                let (outcome, _) = reject(payload, error)
                cancel([payload], intake)
                receipt.finish(outcome)
            }
            return receipt
        }
        accept(deliveries)
        return receipts
    }

    /// Adds the payloads that are messages to the inbox; returns their numbers, in order.
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

    /// Makes the delivery of a message, with the settings of its first route, else the standard ones.
    private func delivery(
        _ number: UInt64, _ message: PushMessage, _ standard: DeliverySettings, _ receipt: Receipt, _ intake: Int?
    ) -> Delivery {
        var (routed, table) = receiver.prepare(message)
        prepareAnswer(&routed, receipt)
        receiver.loopGuard?.hear(&routed)
        let settings = routed.routes.first?.options.delivery ?? standard
        let killed = receiver.loopGuard?.kills(of: routed, routed.routes) ?? (false, [])
        return Delivery(
            ticket: Ticket(number, routed, settings, receipt, intake: intake),
            incoming: Incoming(routed, table), killed: killed)
    }

    /// Makes the delivery of a message that an earlier process accepted, or that has waited in the inbox.
    func delivery(
        _ entry: InboxEntry, _ standard: DeliverySettings, _ item: Unread? = nil
    ) throws(DecodeError) -> Delivery {
        var (routed, table) = receiver.prepare(try receiver.decode(entry.payload))
        let receipt = item?.receipt ?? Receipt(isStored: isDurable)
        prepareAnswer(&routed, receipt, entry.answers)
        receiver.loopGuard?.hear(&routed, isAgain: true)
        let settings = routed.routes.first?.options.delivery ?? standard
        return Delivery(
            ticket: Ticket(entry.id, routed, settings, receipt, item),
            incoming: Incoming(routed, table, attempts: entry.attempts, done: entry.handled),
            killed: item?.killed ?? (false, []), isSuspect: entry.isSuspect)
    }

    /// Dead-letters a payload that is not a message; returns whether the dead-letter store had capacity for it.
    ///
    /// If a new payload does not fit, it is reported and discarded: garbage must not block messages.
    func reject(
        _ payload: RawPayload, _ error: DecodeError, inboxID: UInt64? = nil
    ) -> (outcome: Outcome, isKept: Bool) {
        let outcome = receiver.undecodable(payload, error)
        var letter = DeadLetter(
            payload: payload, reason: .undecodable, routes: [], arrivedAt: payload.arrivedAt ?? clock.now)
        (letter.cause, letter.inboxID) = (error.code.rawValue, inboxID)
        letter.keys = DeadLetter.keys(undecodable: payload)
        do {
            try receiver.putAside(letter)
            works(.deadLetters)
            return (outcome, true)
        } catch {
            fails(.deadLetters, "a payload that is not a push could not be dead-lettered: \(error)")
            return (outcome, false)
        }
    }

    /// Lets deliveries of a transport wait for their turn, and ends those that cannot, and those that they replace.
    private func accept(_ deliveries: [Delivery]) {
        let (unread, replaced, refused) = change { state in
            var (unread, replaced, refused) = ([Delivery](), [Unread](), [Delivery]())
            state.arriving -= deliveries.count
            for delivery in deliveries {
                switch state.room.append(delivery) {
                case .memory: break
                case .disk(let others):
                    unread.append(delivery)
                    replaced += others
                case .none: refused.append(delivery)
                }
            }
            state.unplaced += refused.count
            state.ending += refused.count + (replaced.isEmpty ? 0 : 1)
            return (unread, replaced, refused)
        }
        // It is heard again when it is read, unless a newer change replaces it before.
        for delivery in unread { receiver.loopGuard?.forget(delivery.message) }
        if !replaced.isEmpty { startCounted { await self.endReplaced(replaced) } }
        for delivery in refused { startCounted { await self.endUnplaced(delivery) } }
    }

    // MARK: Room

    /// Reserves capacity for payloads.
    ///
    /// - Returns: the current settings for messages whose route has none.
    private func reserve(_ payloads: [RawPayload], _ intake: Int?) throws(IntakeRefusal) -> DeliverySettings {
        let use = Use(payloads)
        let answer: Result<DeliverySettings, IntakeRefusal> = change { state in
            guard state.phase == .open else { return .failure(.stopping) }
            if let intake {
                guard state.mayCome(use, intake) else {
                    state.refused[intake] = use
                    return .failure(.full)
                }
                if !state.refused.isEmpty { state.refused[intake] = nil }
            }
            state.arriving += use.messages
            if !state.room.isDurable { state.room.reserve(use, intake) }
            return .success(state.delivery)
        }
        return try answer.get()
    }

    /// Frees the capacity that was reserved for payloads that were not accepted.
    private func cancel(_ payloads: [RawPayload], _ intake: Int?) {
        let use = Use(payloads)
        change { state in
            state.arriving -= use.messages
            if !state.room.isDurable { state.room.reserve(-use, intake) }
        }
    }

    fileprivate func room(_ intake: Int) async {
        let number = change { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                // If it was cancelled before it waits, nobody else would wake it.
                change { state in state.roomWaiters[.task(number)] = .init(intake: intake) { waiter.resume() } }
                if Task.isCancelled { stopWaiting(number) }
            }
        } onCancel: {
            stopWaiting(number)
        }
    }

    private func stopWaiting(_ number: UInt64) {
        change { $0.roomWaiters.removeValue(forKey: .task(number)) }?.call()
    }

    fileprivate func whenRoom(_ intake: Int, _ action: @escaping @Sendable () -> Void) {
        change { $0.roomWaiters[.intake(intake)] = .init(intake: intake, call: action) }
    }
}

/// An inbox returned more or fewer numbers than payloads, against its guarantee.
struct InboxMiscounted: Error {
    let payloads: Int
    let numbers: Int
}

extension Use {
    fileprivate init(_ payloads: [RawPayload]) {
        self.init(messages: payloads.count, bytes: payloads.reduce(0) { $0 + $1.size })
    }
}
