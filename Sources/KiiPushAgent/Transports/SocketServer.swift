import CLibrary
import KiiPush
import KiiPushDelivery
import KiiPushSystem

/// The work of a ``SocketTransport``'s thread: it polls all clients, and waits for none.
struct SocketServer: ~Copyable {
    private let transport: SocketTransport
    private let signal: ThreadSignal
    private var intake: BatchedIntake
    private var listener: SocketListener?
    private var clients: [SocketClient] = []
    private var buffer = [UInt8](repeating: 0, count: 65_536)
    private var pause: AcceptPause
    private var hasTold: Set<String> = []
    private var turns = 0
    /// When to check next whether the path still names the socket.
    private var nextLook: ContinuousClock.Instant
    /// Why it could not listen again; nil if it listens.
    private var failure: SocketError?

    init(
        _ transport: SocketTransport, _ intake: PushIntake, _ signal: ThreadSignal, _ listener: consuming SocketListener
    ) {
        (self.transport, self.signal) = (transport, signal)
        pause = AcceptPause(transport.shortages, what: "clients of \(transport.path)")
        self.intake = BatchedIntake(intake, signal)
        self.listener = .some(listener)
        nextLook = .now + transport.lookEvery
        intake.report(.connected("listens at \(EscapedText(transport.path))"))
    }

    deinit {
        for client in clients { close(client.descriptor) }
    }

    mutating func run() {
        while !signal.hasEnded { turn() }
        stop()
    }

    // MARK: One turn

    private mutating func turn() {
        let mayRead: Bool
        var limit: Duration?
        switch intake.wait {
        case .none: mayRead = true
        case .upTo(let time): (mayRead, limit) = (false, time)
        case .untilSignal: mayRead = false
        }
        let (newClient, events) = poll(mayRead: mayRead, limit)
        // Each turn begins with another client, so that all share scarce capacity.
        turns &+= 1
        for offset in clients.indices {
            let index = (turns + offset) % clients.count
            if mayRead { clients[index].read(events[index], &buffer) } else { clients[index].note(events[index]) }
            handOver(index)
            clients[index].settle(at: .now)
            clients[index].write()
        }
        dropClients { $0.isDone }
        if newClient { acceptClients() }
        if nextLook <= .now { look() }
    }

    /// Waits until there is something to do; returns whether there is a new client, and the events of the others.
    private mutating func poll(mayRead: Bool, _ limit: Duration?) -> (newClient: Bool, events: [Int16]) {
        let now = ContinuousClock.now
        var times = clients.compactMap { $0.nextDeadline.map { now.duration(to: $0) } }
        if let limit { times.append(limit) }
        if mayRead, clients.contains(where: \.hasWork) { times.append(.zero) }
        let rest = listener == nil ? nil : pause.left
        if let rest { times.append(rest) }
        if listener != nil { times.append(now.duration(to: nextLook)) }
        let listening = rest == nil ? listener?.descriptor ?? -1 : -1
        var polled = [
            pollfd(fd: signal.descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: listening, events: Int16(POLLIN), revents: 0),
        ]
        polled += clients.map { $0.polled(mayRead: mayRead) }
        pollAll(&polled, for: times.min())
        let end = ContinuousClock.now
        for (index, client) in polled.dropFirst(2).enumerated() { clients[index].note(client, now, end) }
        if polled[0].revents != 0 { signal.clear() }
        return (polled[1].revents != 0 || rest != nil && pause.isDue, polled.dropFirst(2).map(\.revents))
    }

    private mutating func dropClients(where isOver: (SocketClient) -> Bool) {
        for client in clients where isOver(client) { close(client.descriptor) }
        clients.removeAll(where: isOver)
    }

    // MARK: Submitting

    /// Submits at most a batch of a client's payloads, so that none delays the others.
    private mutating func handOver(_ index: Int) {
        for number in clients[index].refuseTooLong() {
            intake.intake.drop("a client's line \(number)", largerThan: transport.limit, network: transport.network)
        }
        guard case .none = intake.wait else { return }
        let payloads = clients[index].nextPayloads(transport.network)
        guard !payloads.isEmpty else { return }
        do throws(IntakeRefusal) {
            let deadline = ContinuousClock.now + transport.answerAfter
            clients[index].answerFirst(try intake.submit(payloads).map { DueAnswer($0, deadline: deadline, signal) })
        } catch {
            switch error {
            case .full: break
            case .failed: clients[index].answerFirst(payloads.map { _ in DueAnswer(SocketAnswer.inboxFailed) })
            case .stopping: clients[index].answerFirst(payloads.map { _ in DueAnswer(SocketAnswer.stopping) })
            }
        }
    }

    // MARK: Clients

    private mutating func acceptClients() {
        // At most as many at a time as may be connected: a client that reconnects constantly delays nobody.
        for _ in 0..<transport.clients {
            do throws(ErrorNumber) {
                let client = try listener?.acceptClient()
                pause.succeeded()
                guard let client else { return }
                admit(client)
            } catch {
                if !pause.failed(error) { tellOnce("cannot accept clients: \(error)") }
                return
            }
        }
    }

    private mutating func admit(_ client: Int32) {
        guard let user = peerUser(client), transport.users.contains(user) else {
            tellOnce("rejected a client whose user may not use the socket")
            return turnAway(client, SocketAnswer.notAllowed)
        }
        if clients.count >= transport.clients { dropIdlest() }
        guard clients.count < transport.clients else {
            tellOnce("rejected a client, because \(transport.clients) are connected already")
            return turnAway(client, SocketAnswer.tooManyClients)
        }
        clients.append(SocketClient(client, limit: transport.limit))
    }

    /// Disconnects the client with the longest silence, if that is long enough.
    private mutating func dropIdlest() {
        let idle = clients.indices.filter { clients[$0].isIdle && !hasUnread(clients[$0].descriptor) }.min {
            clients[$0].lastSent < clients[$1].lastSent
        }
        guard let idle, clients[idle].lastSent + transport.idleLimit <= .now else { return }
        tellOnce("disconnected an idle client to make room for another")
        close(clients.remove(at: idle).descriptor)
    }

    private func hasUnread(_ client: Int32) -> Bool {
        var polled = [pollfd(fd: client, events: Int16(POLLIN), revents: 0)]
        pollAll(&polled, for: .zero)
        return polled[0].revents & Int16(POLLIN) != 0
    }

    private func turnAway(_ client: Int32, _ answer: String) {
        let bytes = Array(answer.utf8)
        _ = unsafe send(client, bytes, bytes.count, Int32(MSG_NOSIGNAL))
        close(client)
    }

    private mutating func tellOnce(_ what: String) {
        if hasTold.insert(what).inserted { intake.intake.report(.ignored(what)) }
    }

    /// Listens again if somebody has removed or replaced the socket, and reports if it cannot.
    private mutating func look() {
        nextLook = .now + transport.lookEvery
        let isInPlace = listener?.isInPlace ?? true
        if isInPlace, failure == nil { return }
        do throws(SocketError) {
            if !isInPlace {
                // Those who connected before are served still.
                acceptClients()
                listener = .some(try transport.newListener())
            }
            failure = nil
            let path = EscapedText(transport.path)
            intake.intake.report(.connected("listens at \(path) again: the socket was removed or replaced"))
        } catch {
            if failure != error { intake.intake.report(.disconnected("\(error)", retryIn: transport.lookEvery)) }
            failure = error
        }
    }

    // MARK: The end

    /// Accepts no more, and answers what was sent: with its outcome if that comes soon, else whether it is stored.
    private mutating func stop() {
        listener = nil
        let end = ContinuousClock.now + min(transport.answerAfter, transport.longestStop)
        for index in clients.indices { clients[index].refuseRest() }
        // As long again for slow readers.
        let last = end + transport.longestStop
        while !clients.isEmpty, ContinuousClock.now < last {
            for index in clients.indices {
                clients[index].settle(at: .now, stoppingBy: end)
                clients[index].write()
            }
            dropClients { $0.isDone }
            if clients.isEmpty { return }
            let now = ContinuousClock.now
            let events = poll(mayRead: false, now.duration(to: now < end ? end : last)).events
            for index in clients.indices { clients[index].note(events[index]) }
        }
    }
}
