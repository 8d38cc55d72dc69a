// Taking payloads in: room, inbox, lane.

import Synchronization

extension PushService: IntakeService {
    package var isDurable: Bool { inbox.isDurable }

    package func take(_ payloads: [RawPayload]) throws(IntakeRefusal) -> [Receipt] {
        let bytes = payloads.reduce(0) { $0 + $1.bytes.count }
        try reserve(payloads.count, bytes)
        let decoded = payloads.map { payload in
            Result { () throws(DecodeError) in try PushMessage(payload, limits: receiver.limits) }
        }
        let numbers: [UInt64]
        do {
            numbers = try inbox.add(zip(payloads, decoded).filter { (try? $0.1.get()) != nil }.map(\.0))
        } catch {
            free(payloads.count, bytes)
            tell(.storeFailed("the inbox could not take \(payloads.count) payloads in: \(error)"))
            throw .failed(error)
        }
        var parcels: [Parcel] = []
        var next = numbers.makeIterator()
        let receipts = zip(payloads, decoded).map { payload, decoded in
            let receipt = Receipt(isStored: inbox.isDurable)
            switch decoded {
            case .success(let message):
                let routed = receiver.prepare(message)
                parcels.append(parcel(next.next() ?? 0, routed, receipt))
            case .failure(let error):
                reject(payload, error, receipt)
                free(1, payload.bytes.count)
            }
            return receipt
        }
        queue(parcels)
        return receipts
    }

    /// A parcel of a message, delivered as its first route asks.
    func parcel(_ number: UInt64, _ message: RoutedMessage, _ receipt: Receipt) -> Parcel {
        let settings = message.routes.first?.delivery ?? delivery.withLock { $0 }
        let wasKilled = receiver.loopGuard?.isKilled(message) ?? false
        return Parcel(number, message, settings, receipt, wasKilled: wasKilled)
    }

    /// Puts a payload aside that no delivery will make a message.
    ///
    /// One that there is no room for is told of and let go: garbage must not keep messages from coming in.
    func reject(_ payload: RawPayload, _ error: DecodeError, _ receipt: Receipt) {
        let outcome = receiver.undecodable(payload, error)
        var letter = DeadLetter(
            payload: payload, reason: .undecodable, routes: [], arrivedAt: payload.arrivedAt ?? clock.now)
        letter.cause = error.code.rawValue
        do { try receiver.putAside(letter) } catch {
            tell(.storeFailed("a payload that is no push could not be put aside: \(error)"))
        }
        receipt.finish(outcome)
    }

    /// Puts parcels into their lanes, and starts what can be.
    func queue(_ parcels: [Parcel]) {
        let replaced = state.withLock { state in
            parcels.flatMap { parcel in
                let replaced = parcel.delivery.replacesOlder ? parcel.takeOlder(from: &state.lanes) : []
                state.lanes.append(parcel)
                return replaced
            }
        }
        for parcel in replaced { Task { await supersede(parcel) } }
        startWork()
    }

    // MARK: Room

    private func reserve(_ count: Int, _ bytes: Int) throws(IntakeRefusal) {
        let answer: Result<Void, IntakeRefusal> = state.withLock { state in
            guard state.phase == .open else { return .failure(.stopping) }
            let fits = state.messages + count <= settings.messages && state.bytes + bytes <= settings.bytes
            // What is larger than all there may be would never fit; it comes alone.
            guard fits || state.messages == 0 else { return .failure(.full) }
            state.messages += count
            state.bytes += bytes
            return .success(())
        }
        try answer.get()
    }

    /// Gives room back, and calls those who wait for it.
    func free(_ count: Int, _ bytes: Int) {
        let (tasks, actions) = state.withLock { state in
            state.messages -= count
            state.bytes -= bytes
            return state.hasRoom(settings) ? state.takeRoomWaiters() : ([], [])
        }
        for task in tasks { task.resume() }
        for action in actions { action() }
        wakeIdle()
    }

    package func room() async {
        let number = state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                let isOver = state.withLock { state in
                    if state.phase != .open || state.hasRoom(settings) || Task.isCancelled { return true }
                    state.roomWaiters[number] = waiter
                    return false
                }
                if isOver { waiter.resume() }
            }
        } onCancel: {
            state.withLock { $0.roomWaiters.removeValue(forKey: number) }?.resume()
        }
    }

    package func whenRoom(_ transport: String, _ action: @escaping @Sendable () -> Void) {
        let isNow = state.withLock { state in
            if state.phase != .open || state.hasRoom(settings) { return true }
            state.roomActions[transport] = action
            return false
        }
        if isNow { action() }
    }

    package func report(_ event: TransportEvent, _ transport: String) { tell(.transport(transport, event)) }
}

extension ServiceState {
    /// Whether it is worth while to call those who wait: a quarter is free, or they would come for one payload each.
    func hasRoom(_ settings: ServiceSettings) -> Bool {
        messages == 0 || messages <= settings.messages / 4 * 3 && bytes <= settings.bytes / 4 * 3
    }

    /// Those who wait for room, who are called once.
    mutating func takeRoomWaiters() -> ([CheckedContinuation<Void, Never>], [@Sendable () -> Void]) {
        defer { (roomWaiters, roomActions) = ([:], [:]) }
        return (Array(roomWaiters.values), Array(roomActions.values))
    }
}

extension Parcel {
    /// Takes out of the lane the older changes of this one's object that have not been tried.
    fileprivate func takeOlder(from lanes: inout Lanes) -> [Parcel] {
        let message = progress.message
        guard case .place = lane, let route = message.routes.first, message.message.storage.reading.hasObject else {
            return []
        }
        return lanes.remove(from: lane) { other in
            let older = other.progress
            guard other.delivery.replacesOlder, older.attempts == 0, older.message.routes.first === route else {
                return false
            }
            return older.message.message.isOlder(than: message.message)
        }
    }
}

extension PushMessage {
    /// Whether it tells of an earlier change of the same object, or of the same one.
    fileprivate func isOlder(than other: PushMessage) -> Bool {
        guard storage.reading.hasObject, object == other.object else { return false }
        if let own = modifiedAt, let others = other.modifiedAt { return own <= others }
        if let own = sentAt, let others = other.sentAt { return own <= others }
        return true
    }
}
