// Accepts payloads: capacity, inbox, lane.

import KiiPush
import Synchronization

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

    package func pause(_ length: Duration) async {
        let clock = service.clock
        try? await clock.sleep(until: clock.now.advanced(by: length))
    }

    package func room() async {
        let (signal, source) = AsyncStream<Never>.makeStream()
        let task = service.change { state in
            let task = ServiceState.Condition.hasRoom(intake: number, task: state.nextNumber())
            state.waiters[task] = { source.finish() }
            return task
        }
        // Ends when it is called, or cancelled.
        for await _ in signal {}
        service.change { _ = $0.waiters.removeValue(forKey: task) }
    }

    package func whenRoom(_ action: @escaping @Sendable () -> Void) {
        service.change { $0.waiters[.hasRoom(intake: number)] = action }
    }

    package func report(_ event: TransportEvent, _ transport: String) {
        service.tell(.transport(transport, event))
        if case .possibleGap(let reason, let cause?) = event {
            service.open(Gap(cause, transport: transport, reason: reason))
        }
    }

    package func drop(_ what: String, largerThan limit: Int, _ network: Transport?, of transport: String) {
        let error = PayloadLimits(bytes: limit).tooLarge
        service.receiver.undecodable(RawPayload([], transport: network), error)
        let reason = "\(what) is larger than the limit of \(limit) bytes, and is lost"
        service.change { $0.losses[transport, default: Losses()].add(reason) }
        service.reportLosses(of: transport)
    }
}

extension PushService {
    /// Accepts payloads of a transport, or of none.
    func submit(_ payloads: [RawPayload], _ intake: Int?) throws(IntakeRefusal) -> [Receipt] {
        try reserve(payloads, intake)
        let decoded = payloads.map { payload in Result { () throws(DecodeError) in try receiver.decode(payload) } }
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
        let standard = state.withLock { $0.delivery }
        let receipts = zip(payloads, decoded).map { payload, decoded in
            let receipt = Receipt(isStored: isDurable, passesAnswer: passesAnswer)
            switch decoded {
            case .success(let message):
                deliveries.append(delivery(next.next() ?? 0, message, receipt, standard, intake: intake))
            case .failure(let error):
                reject(payload, error)
                cancel([payload], intake)
                receipt.finish(.undecodable(error))
            }
            return receipt
        }
        accept(deliveries)
        return receipts
    }

    /// Adds the payloads that are messages to the inbox; returns their numbers, in order.
    private func add(_ payloads: [RawPayload], _ decoded: [Result<PushMessage, DecodeError>]) throws -> [UInt64] {
        let messages = zip(payloads, decoded).filter { if case .success = $0.1 { true } else { false } }.map(\.0)
        let numbers = messages.isEmpty ? [] : try inbox.add(messages)
        guard numbers.count == messages.count else {
            throw InboxMiscounted(payloads: messages.count, numbers: numbers.count)
        }
        return numbers
    }

    /// Makes the delivery of a message that an earlier process accepted, or that has waited in the inbox with a ticket.
    func delivery(_ entry: InboxEntry, _ ticket: Ticket? = nil) throws(DecodeError) -> Delivery {
        let receipt = ticket?.receipt ?? Receipt(isStored: isDurable)
        let message = try receiver.decode(entry.payload)
        return delivery(entry.id, message, receipt, state.withLock { $0.delivery }, entry: entry, ticket: ticket)
    }

    /// Makes the delivery of a message, with the settings of its first route, else the standard ones; one that was in
    /// the inbox has an entry there.
    private func delivery(
        _ number: UInt64, _ message: PushMessage, _ receipt: Receipt, _ standard: DeliverySettings, intake: Int? = nil,
        entry: InboxEntry? = nil, ticket: Ticket? = nil
    ) -> Delivery {
        var (routed, table) = receiver.prepare(message)
        if receipt.passesAnswer || answerSenders.sender(of: message) != nil {
            routed.answers = GivenAnswers(
                routed.routes, handled: entry?.handled ?? [], entry?.answers ?? [])
        }
        if ticket?.putOff == nil { receiver.loopGuard?.hear(&routed, isAgain: entry != nil) }
        let settings = routed.routes.first?.options.delivery ?? standard
        let incoming = Incoming(routed, table, attempts: entry?.attempts ?? 0, done: entry?.handled ?? [])
        let killed = entry == nil ? receiver.loopGuard?.kills(of: routed, routed.routes) : nil
        return Delivery(
            ticket: ticket
                ?? Ticket(
                    number, routed, settings, receipt, intake: intake, killed: killed ?? [],
                    mayBeReplaced: isDurable && incoming.attempts == 0),
            settings: settings, incoming: incoming, isSuspect: entry?.isSuspect ?? false)
    }

    /// Dead-letters a payload that is not a message; false if it does not fit: a new one is then discarded, since
    /// garbage must not block messages.
    @discardableResult
    func reject(_ payload: RawPayload, _ error: DecodeError, inboxID: UInt64? = nil) -> Bool {
        var letter = DeadLetter(
            payload: payload, reason: .undecodable, routes: [], arrivedAt: payload.arrivedAt ?? clock.now)
        (letter.cause, letter.inboxID) = (error.code.rawValue, inboxID)
        letter.keys = DeadLetter.keys(undecodable: payload)
        var number: UInt64?
        do {
            number = try receiver.store(letter)
            works(.deadLetters)
        } catch {
            fails(.deadLetters, "a payload that is not a push could not be dead-lettered: \(error)")
        }
        receiver.undecodable(payload, error, deadLetter: number)
        return number != nil
    }

    /// Lets deliveries of a transport wait for their turn, and ends those that cannot, and those that they replace.
    private func accept(_ deliveries: [Delivery]) {
        let (unread, replaced, refused) = change { state in
            var (unread, replaced, refused) = ([Delivery](), [Ticket](), [Delivery]())
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
            state.ending += refused.count + (replaced.isEmpty ? 0 : 1)
            return (unread, replaced, refused)
        }
        // It is heard again when it is read, unless a newer change replaces it before.
        for delivery in unread { receiver.loopGuard?.forget(delivery.message) }
        if !replaced.isEmpty { startEnding { await self.endReplaced(replaced) } }
        for delivery in refused { startEnding { await self.endUnplaced(delivery) } }
    }

    // MARK: Room

    /// Reserves capacity for payloads.
    private func reserve(_ payloads: [RawPayload], _ intake: Int?) throws(IntakeRefusal) {
        let use = Use(payloads)
        let refusal: IntakeRefusal? = change { state in
            guard state.phase == .open else { return .stopping }
            if let intake {
                guard state.mayCome(use, intake) else {
                    state.refused[intake] = use
                    return .full
                }
                if !state.refused.isEmpty { state.refused[intake] = nil }
            }
            state.arriving += use.messages
            if !state.room.isDurable { state.room.reserve(use, intake) }
            return nil
        }
        if let refusal { throw refusal }
    }

    /// Frees the capacity that was reserved for payloads that were not accepted.
    private func cancel(_ payloads: [RawPayload], _ intake: Int?) {
        let use = Use(payloads)
        change { state in
            state.arriving -= use.messages
            if !state.room.isDurable { state.room.reserve(-use, intake) }
        }
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
