#if MQTT
import CLibrary
import KiiPush
import KiiPushDelivery
import KiiPushSystem

// One round of a connection: poll, read, submit, write.
extension MQTTSession {
    /// `POLLRDHUP`, which the C library declares only with GNU extensions.
    private static let hungUp: Int32 = 0x2000
    /// At this many unsent acknowledgements, reading stops.
    private static let mostUnacknowledged = 1024
    /// Beyond this many bytes, reading stops until the received payloads are submitted.
    private static let mostBytes = 1 << 20

    /// Polls, and processes the result.
    func round(_ link: borrowing MosquittoClient, until deadline: Instant?) throws(End) {
        try handOver()
        publishAnswers(link)
        try write(link)
        let mayRead = (arrivals.payloads.isEmpty || isHeld) && unacknowledged < Self.mostUnacknowledged
        // Detects a peer's hang-up even while nothing is read.
        var events = mayRead ? POLLIN : Self.hungUp
        if maySend, link.wantsWrite { events |= POLLOUT }
        let tick = Instant.now + min(.seconds(15), .milliseconds(250) * settings.keepAlive)
        let start = Instant.now
        let seen = wait(link.descriptor, events, until: [tick, deadline, nextTry, fileLook.due])
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
        var failure: MosquittoClient.Failure?
        arrivals.areLate = lag.isBehind(.now)
        arrivals.now = intake.now
        let first = arrivals.count
        repeat {
            let before = arrivals.count
            do throws(MosquittoClient.Failure) { try link.read() } catch { failure = error }
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
        for answer in arrivals.takeAnswers() { try heed(answer, link) }
        for notice in arrivals.takeNotices() { intake.report(.ignored(notice)) }
        if let failure { throw .lost(failure) }
        guard link.descriptor >= 0 else { throw .lost("the broker ended the link", isByBroker: true) }
        if mustAcknowledge, !link.wantsWrite {
            throw .final(.acknowledgesEarly(MosquittoClient.libraryVersion))
        }
        try handOver()
        try write(link)
        publish(arrivals.counts)
    }

    /// Ends the connection with a disconnect packet, unless it is not established, or that would acknowledge unaccepted
    /// messages.
    func leave(_ link: borrowing MosquittoClient) {
        guard subscribedAt != nil, maySend, unended.retried == 0, link.descriptor >= 0 else { return }
        // A broker publishes the will only if a connection breaks.
        if let will = settings.will { try? link.publish(will, .zero) }
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
            && arrivals.bytes < Self.mostBytes && possibleGap(hadSession: hadLink || settings.hadSession, 1) != nil
    }

    /// Sends the queue, if allowed.
    private func write(_ link: borrowing MosquittoClient) throws(End) {
        guard maySend else { return }
        let retried = unended.retried
        guard retried == 0 else {
            let whence = settings.cleanSession ? "a clean session loses them" : "the broker sends all again"
            throw .lost("\(counted(retried, "message")) \(retried == 1 ? "was" : "were") not dealt with; \(whence)")
        }
        let isTogether = unacknowledged > 1
        unacknowledged = 0
        try lost { () throws(MosquittoClient.Failure) in try link.write(isTogether: isTogether) }
        isSending = link.wantsWrite
        if !isSending { areRequestsSent = true }
    }

    func lost(_ call: () throws(MosquittoClient.Failure) -> Void) throws(End) {
        do throws(MosquittoClient.Failure) { try call() } catch { throw .lost(error) }
    }
}
#endif
