#if MQTT
import CLibrary
import KiiPush
import KiiPushDelivery
import KiiPushSystem
import Synchronization

// One round of a connection: poll, read, submit to the intake, write.
extension MQTTSession {
    /// `POLLRDHUP`, which the C library declares only with GNU extensions.
    private static let hungUp: Int32 = 0x2000
    /// At this many unsent acknowledgements, reading stops.
    private static let mostUnacknowledged = 1024
    /// Beyond this many bytes, reading stops until the received payloads are submitted.
    private static let mostBytes = 1 << 20

    func round(_ link: borrowing MosquittoClient, until deadline: Instant?) throws(End) {
        try handOver()
        try write(link)
        let isClear = arrivals.payloads.isEmpty || isHeld || seeksConfirmation
        let mayRead = isClear && unacknowledged < Self.mostUnacknowledged
        // Detects a peer's hang-up even while nothing is read.
        var events = mayRead ? POLLIN : Self.hungUp
        if maySend, link.wantsWrite { events |= POLLOUT }
        let tick = Instant.now + min(.seconds(15), .milliseconds(250) * keepAliveSeconds)
        let start = Instant.now
        let seen = wait(link.descriptor, events, until: [tick, deadline, nextTry, files.due])
        if mayRead { lag.polled(start, .now, isReady: seen & POLLIN != 0) } else { lag.stopped() }
        if mayRead, seen & (POLLIN | POLLHUP | POLLERR) != 0 {
            try read(link)
        } else if seen & (POLLHUP | POLLERR | Self.hungUp) != 0 {
            throw .lost("the broker ended the link", isByBroker: true)
        }
        isBehind = !mayRead || isBehind && seen & POLLIN != 0
        try keepAlive(link)
    }

    /// Reads what is available, at most `BatchedIntake.largestBatch` messages, and submits it.
    private func read(_ link: borrowing MosquittoClient) throws(End) {
        var failure: End?
        arrivals.areLate = lag.isBehind(.now)
        arrivals.now = intake.now
        let first = arrivals.count
        repeat {
            let before = arrivals.count
            do throws(End) { try link.read() } catch { failure = error }
            // Pings are not counted; if there is more, the next poll reports it at once. Without a socket libmosquitto
            // would report the end of the connection again and again.
            if arrivals.count == before || link.descriptor < 0 { break }
            // The reaction to an answer must not wait behind acknowledgements.
            if !arrivals.answers.isEmpty { break }
        } while failure == nil && arrivals.payloads.count < BatchedIntake.largestBatch
            && arrivals.bytes < Self.mostBytes
        lag.read(arrivals.count - first, window: MosquittoClient.usualWindow, .now)
        // In any case, or the next link would have to send it.
        let mustAcknowledge = arrivals.takeAcknowledgement()
        for answer in arrivals.answers.takeAll() { try heed(answer, link) }
        for notice in arrivals.notices.takeAll() { intake.report(.ignored(notice)) }
        // They are acknowledged with the others, and would only come again.
        for size in arrivals.tooLarge.takeAll() {
            intake.drop("a message of \(size) bytes", largerThan: settings.payloadLimit, network: .mqtt)
        }
        if let failure { throw failure }
        guard link.descriptor >= 0 else { throw .lost("the broker ended the link", isByBroker: true) }
        if mustAcknowledge, !link.wantsWrite {
            throw .final(.acknowledgesEarly(MosquittoClient.libraryVersion))
        }
        try handOver()
        try write(link)
        transport.counts = arrivals.counts
    }

    /// Ends an established connection with a disconnect packet, unless that would acknowledge unaccepted messages.
    func leave(_ link: borrowing MosquittoClient) {
        guard subscribedAt != nil, maySend, unended.retried == 0, link.descriptor >= 0 else { return }
        // A broker publishes the will only if a connection breaks.
        if let will = settings.will { _ = try? link.publish(will, .zero) }
        link.disconnect()
        let end = Instant.now + .seconds(1)
        while link.descriptor >= 0, link.wantsWrite, .now < end {
            guard (try? link.write()) != nil else { return }
            if link.descriptor >= 0, link.wantsWrite { _ = wait(link.descriptor, POLLOUT, until: [end]) }
        }
    }

    /// Whether all received messages are safe, so that the queue, including acknowledgements, may be sent.
    ///
    /// libmosquitto sends its whole queue or nothing. So messages in memory are acknowledged together, when the last
    /// one has ended.
    var maySend: Bool { arrivals.payloads.isEmpty && unended.isEmpty }

    /// Whether received messages wait for the last subscription: with it a gap is reported that is handled before them.
    ///
    /// No more than one batch waits, and none that arrives with the broker's first answer, from a session that it has
    /// kept: the requests to subscribe are sent after it.
    var isHeld: Bool {
        !requested.isEmpty && areRequestsSent && arrivals.payloads.count < BatchedIntake.largestBatch
            && arrivals.bytes < Self.mostBytes && possibleGap(hadSession: hadLink || settings.hadSession) != nil
    }

    /// Whether the confirmation of an answer may lie behind messages that the inbox cannot store, perhaps because
    /// answers fill it: so many of them are read as a broker sends without acknowledgements.
    private var seeksConfirmation: Bool {
        transport.outgoing.awaitsConfirmation && arrivals.payloads.count <= Int(MosquittoClient.window)
            && arrivals.bytes < Self.mostBytes
    }

    private func write(_ link: borrowing MosquittoClient) throws(End) {
        guard maySend else { return }
        let retried = unended.retried
        guard retried == 0 else {
            let whence = settings.cleanSession ? "a clean session loses them" : "the broker sends all again"
            throw .lost("\(counted(retried, "message")) \(retried == 1 ? "was" : "were") not dealt with; \(whence)")
        }
        publishAnswers(link)
        let isTogether = unacknowledged > 1
        unacknowledged = 0
        try link.write(isTogether: isTogether)
        isSending = link.wantsWrite
        if !isSending { areRequestsSent = true }
    }

    // MARK: Submitting

    /// Whether the intake was full, and no capacity was reported since.
    var isFull: Bool {
        if case .untilSignal = batches.wait { true } else { false }
    }

    /// When to retry refused payloads; nil if there are none, or only a signal ends the wait.
    var nextTry: Instant? {
        guard !arrivals.payloads.isEmpty, !isHeld else { return nil }
        switch batches.wait {
        case .none: return .now
        case .upTo(let time): return .now + time
        case .untilSignal: return nil
        }
    }

    /// Submits the received payloads to the intake, in order, as far as it has capacity, unless they wait.
    ///
    /// It ends the connection if the inbox failed and the broker redelivers everything on a new one.
    func handOver() throws(End) {
        defer { keepRetained() }
        guard !isHeld else { return }
        while !arrivals.payloads.isEmpty, case .none = batches.wait {
            do throws(IntakeRefusal) {
                let receipts = try batches.submit(arrivals.payloads)
                arrivals.removeFirst(receipts.count)
                unacknowledged += receipts.count
                watch(receipts)
            } catch {
                switch error {
                case .full: break
                case .stopping: throw .stopped
                case .failed(let error):
                    // A clean session or quality of service 0 redelivers nothing: these payloads are the only copies. A
                    // new connection could not confirm an answer sooner than this one.
                    guard !arrivals.allComeAgain || transport.outgoing.awaitsConfirmation else {
                        throw .lost("the inbox could not store the payloads: \(error)")
                    }
                    batches.pauseAfterFailure()
                }
            }
        }
    }

    /// Remembers retained messages that a durable inbox has accepted; those in memory would be lost with the process.
    private func keepRetained() {
        guard intake.isDurable, let problem = retained.keep(arrivals.retained) else { return }
        intake.report(.ignored(problem))
    }

    /// Makes acknowledgements wait for accepted payloads that are not yet safe.
    private func watch(_ receipts: [Receipt]) {
        let signal = control.signal
        for receipt in receipts where !receipt.isStored { unended.add(receipt) { signal.raise() } }
    }

    // MARK: Keeping alive

    /// Keeps the connection alive, also while the inbox is full or messages have not ended.
    ///
    /// libmosquitto's ping would wait behind acknowledgements that must not be sent yet, and its answer behind messages
    /// that are not read; libmosquitto would then end the connection. So the session sends its own ping meanwhile, and
    /// only the network reveals that the broker is gone.
    func keepAlive(_ link: borrowing MosquittoClient) throws(End) {
        guard isBehind || !maySend else {
            nextPing = nil
            return try link.keepAlive()
        }
        let due = nextPing ?? .now + pingPause / 2
        nextPing = due
        guard due <= .now, isAccepted, !isSending else { return }
        nextPing = .now + pingPause
        try link.pingPastQueue()
    }

    /// Half of the interval that the broker was told: it waits for one and a half times that.
    private var pingPause: Duration { .milliseconds(500) * keepAliveSeconds }
}

/// Messages of a connection that are in memory and have not ended; no acknowledgement is sent before they have.
final class Unended: Sendable {
    private let state = Mutex((open: 0, retried: 0))

    var isEmpty: Bool { state.withLock { $0.open == 0 } }

    /// How many have ended and must be retried, or were abandoned by the service.
    var retried: Int { state.withLock { $0.retried } }

    /// Waits for the end of one, and calls `onLast` when none is open any more.
    func add(_ receipt: Receipt, onLast: @escaping @Sendable () -> Void) {
        state.withLock { $0.open += 1 }
        receipt.onEnd { [self] outcome in
            let isLast = state.withLock { state in
                state.open -= 1
                switch outcome?.disposition {
                case .accept, .reject: break
                case .retryLater, nil: state.retried += 1
                }
                return state.open == 0
            }
            if isLast { onLast() }
        }
    }
}
#endif
