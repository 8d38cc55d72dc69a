#if MQTT
import Glibc
import KiiPush
import KiiPushDelivery
import KiiPushLinux

// One round of a link: poll, read, hand over, write.
extension MQTTSession {
    /// `POLLRDHUP`, which the C library shows only to who asks for all of GNU's.
    private static let hungUp: Int32 = 0x2000
    /// So many acknowledgements wait for messages to end; then nothing more is read.
    private static let mostUnacknowledged = 1024
    /// Beyond this many bytes nothing more is read before what came is handed over.
    private static let mostBytes = 1 << 20

    /// Polls, and does what there is to do then.
    func round(_ link: borrowing MosquittoClient, until deadline: Instant?) throws(End) {
        try handOver()
        try write(link)
        let mayRead = arrivals.payloads.isEmpty && unacknowledged < Self.mostUnacknowledged
        // A peer that hangs up is seen also by who does not read.
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

    /// Reads what there is, at most ``BatchedIntake/largestBatch`` messages, and has it taken in.
    private func read(_ link: borrowing MosquittoClient) throws(End) {
        var failure: MosquittoClient.Failure?
        arrivals.areLate = lag.isBehind(.now)
        let first = arrivals.count
        repeat {
            let before = arrivals.count
            do throws(MosquittoClient.Failure) { try link.read() } catch { failure = error }
            // Pings are not counted; if there is more, the next poll says so at once. Without a socket libmosquitto
            // would say again and again that the link has ended.
            if arrivals.count == before || link.descriptor < 0 { break }
            // What follows from an answer must not wait behind acknowledgements.
            if !arrivals.answers.isEmpty { break }
        } while failure == nil && arrivals.payloads.count < BatchedIntake.largestBatch
            && arrivals.bytes < Self.mostBytes
        lag.read(arrivals.count - first, window: MosquittoClient.usualWindow, .now)
        for answer in arrivals.takeAnswers() { try heed(answer, link) }
        for notice in arrivals.takeNotices() { intake.report(.ignored(notice)) }
        if let failure { throw .lost(failure) }
        guard link.descriptor >= 0 else { throw .lost("the broker ended the link", isByBroker: true) }
        if arrivals.takeAcknowledgement(), !link.wantsWrite {
            throw .final(.acknowledgesEarly(MosquittoClient.libraryVersion))
        }
        try handOver()
        try write(link)
        publish(arrivals.counts)
    }

    /// Ends the link in good order, unless it is none yet or that would acknowledge what was not taken in.
    func leave(_ link: borrowing MosquittoClient) {
        guard subscribedAt != nil, maySend, unended.retried == 0, link.descriptor >= 0 else { return }
        link.disconnect()
        let end = Instant.now + .seconds(1)
        while link.descriptor >= 0, link.wantsWrite, .now < end {
            guard (try? link.write()) != nil else { return }
            if link.descriptor >= 0, link.wantsWrite { _ = wait(link.descriptor, POLLOUT, until: [end]) }
        }
    }

    /// Whether everything that has come is safe, so that what is queued, acknowledgements among it, may leave.
    ///
    /// libmosquitto sends all of its queue or nothing. So what was taken into memory is acknowledged together, when the
    /// last of it has ended.
    var maySend: Bool { arrivals.payloads.isEmpty && unended.isEmpty }

    /// Sends what is queued, if it may leave.
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
    }

    func lost(_ call: () throws(MosquittoClient.Failure) -> Void) throws(End) {
        do throws(MosquittoClient.Failure) { try call() } catch { throw .lost(error) }
    }
}
#endif
