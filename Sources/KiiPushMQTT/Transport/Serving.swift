#if MQTT
import Glibc
import KiiPush
import KiiPushLinux

/// The work of a transport's thread: keeps a link, and has what it brings taken in before it is acknowledged.
///
/// One round of a link is: poll, read some messages, have them taken in together, write. libmosquitto queues an
/// acknowledgement for each message as it reads it, and nothing of its queue leaves before the write.
final class Serving {
    /// What it begins with.
    struct Start: Sendable {
        let settings: MQTTSettings
        let files: LinkFiles
        let random: @Sendable () -> Double
    }

    /// Why a link's rounds end.
    enum End: Error {
        /// The transport is to end.
        case stopped
        /// The link is gone, or of no use; another one may hold.
        case lost(String, isByBroker: Bool = false)
        /// The broker does not let it in; it may change its mind.
        case refused(String)
        /// The files have changed, and the link is to be made with them.
        case renewed
        /// No link will ever hold.
        case final(MQTTError)

        static func lost(_ failure: Link.Failure) -> End { .lost(failure.what, isByBroker: failure.isByBroker) }
    }

    typealias Instant = ContinuousClock.Instant

    let settings: MQTTSettings
    let intake: PushIntake
    let control: Control
    let arrivals: Arrivals
    private let start: Start
    private let clientID: String
    private let publish: (MQTTCounts) -> Void
    private var backoff: Backoff
    private var refusalBackoff: Backoff
    var fileLook: FileLook
    /// Why the broker does not let it in, as it was told; nil while another event was told since.
    private var toldRefusal: String?
    /// How many links in a row the broker has ended soon after they were subscribed.
    private var shortLinks = 0

    private var batches: BatchedIntake
    /// What the link has brought and no disk has.
    private var unended = Unended()
    /// How many messages were taken in since acknowledgements left.
    private var unacknowledged = 0

    /// Whether something may lie in the socket that nobody has read for a while.
    var isBehind = false
    /// Whether a packet may have been sent in part, so that nothing may be sent past it.
    var isSending = false
    /// When the link's own ping is due; nil while libmosquitto sees to it.
    var nextPing: Instant?

    /// Whether a link was subscribed before this one, so that a session should be there.
    var hadLink = false
    /// Whether the broker has accepted the link, which it may do long before it grants the subscription.
    var isAccepted = false
    var isSessionPresent = false
    /// The id of the subscription that was asked for and not answered; nil when there is none.
    var subscription: Int32?
    /// Since when the link is subscribed; nil while it is not.
    var subscribedAt: Instant?
    /// Whether the broker has had more to send for a while.
    private var lag = ReadLag()

    /// `POLLRDHUP`, which the C library shows only to who asks for all of GNU's.
    private static let hungUp: Int32 = 0x2000
    /// So many acknowledgements wait for messages to end; then nothing more is read.
    private static let mostUnacknowledged = 1024
    /// Beyond this many bytes nothing more is read before what came is handed over.
    private static let mostBytes = 1 << 20

    init(_ start: Start, _ intake: PushIntake, _ control: Control, _ publish: @escaping (MQTTCounts) -> Void) {
        self.start = start
        settings = start.settings
        self.intake = intake
        self.control = control
        self.publish = publish
        backoff = Backoff(first: settings.backoff, longest: settings.maxBackoff)
        fileLook = FileLook(start.files, every: settings.fileInterval)
        refusalBackoff = Backoff(first: settings.backoff, longest: settings.maxRefusalBackoff)
        // Of 23 characters, as many as MQTT 3.1 allows.
        clientID =
            settings.clientID.isEmpty
            ? "kiipush-\(String(UInt64.random(in: 1 << 63 ... .max), radix: 36))" : settings.clientID
        arrivals = Arrivals(settings, clientID: clientID)
        batches = BatchedIntake(intake, control.signal)
    }

    /// Works until the transport is to end, or it is of no use to go on.
    func serve() -> Result<Void, MQTTError> {
        if !intake.isDurable, settings.acknowledges == .onTake {
            intake.report(
                .possibleGap("the inbox is in memory: what is acknowledged and not handled is lost in a crash"))
        }
        while true {
            do throws(End) {
                try serveLink()
            } catch {
                publish(arrivals.counts)
                if case .final(let error) = error { return .failure(error) }
                if case .renewed = error {
                    tellRenewal()
                    continue
                }
                if case .lost(let what, let isByBroker) = error, pause(tellLoss(what, isByBroker)) { continue }
                if case .refused(let why) = error, pause(tellRefusal(why)) { continue }
                reportLeft()
                return .success(())
            }
        }
    }

    /// Waits before the next link, and hands over what nobody sends again; false when the transport is to end.
    ///
    /// Where there was no room, the wait is over when there is: that the link went says nothing of the broker then.
    private func pause(_ pause: Duration) -> Bool {
        arrivals.removeWhatComesAgain()
        let wasFull = isFull
        let end = Instant.now + pause
        while !control.isStopped, end > .now || !arrivals.payloads.isEmpty {
            if (try? handOver()) == nil { return false }
            if wasFull, !isFull, arrivals.payloads.isEmpty { break }
            // With another password or certificate the broker may think otherwise.
            if arrivals.payloads.isEmpty, fileLook.areOthers() { break }
            _ = wait(-1, 0, until: arrivals.payloads.isEmpty ? [end, fileLook.due] : [nextTry])
        }
        return !control.isStopped
    }

    /// Tells that the link is gone, and returns how long to wait for another.
    private func tellLoss(_ what: String, _ isByBroker: Bool) -> Duration {
        let held = subscribedAt?.duration(to: .now) ?? .zero
        (subscribedAt, toldRefusal) = (nil, nil)
        let isShort = isByBroker && held > .zero && !backoff.isLong(held)
        shortLinks = isShort ? shortLinks + 1 : 0
        let pause = backoff.next(afterLinkOf: held, random: start.random())
        intake.report(.disconnected(shortLinks < Self.suspectLinks ? what : what + hintOfRival, retryIn: pause))
        return pause
    }

    /// So many short links in a row are most likely cut by another program, which the broker takes for this one.
    private static let suspectLinks = 3

    private var hintOfRival: String {
        "; that makes \(shortLinks) short links in a row: another program seems to connect "
            + "with the client id '\(EscapedText(clientID))'; give each its own"
    }

    /// Tells that the link is made anew at once.
    private func tellRenewal() {
        (subscribedAt, toldRefusal) = (nil, nil)
        intake.report(.disconnected("a file of a certificate, key or password has changed", retryIn: .zero))
    }

    /// Tells that the broker refuses, unless that is what was told last, and returns how long to wait.
    private func tellRefusal(_ why: String) -> Duration {
        subscribedAt = nil
        let pause = refusalBackoff.next(afterLinkOf: .zero, random: start.random())
        if toldRefusal != why { intake.report(.refused(why, retryIn: pause)) }
        toldRefusal = why
        return pause
    }

    /// Has the next refusal be the first.
    func noteAdmission() {
        toldRefusal = nil
        refusalBackoff = Backoff(first: settings.backoff, longest: settings.maxRefusalBackoff)
    }

    private func reportLeft() {
        arrivals.removeWhatComesAgain()
        guard !arrivals.payloads.isEmpty else { return }
        intake.report(
            .possibleGap(
                "\(counted(arrivals.payloads.count, "message")) \(arrivals.payloads.count == 1 ? "was" : "were") not "
                    + "taken in, and nobody sends that again"))
    }

    // MARK: A link

    private func serveLink() throws(End) {
        try awaitRoom()
        let link = try makeLink()
        (isBehind, isSending, isAccepted, nextPing, subscription) = (false, false, false, nil, nil)
        (unended, unacknowledged) = (Unended(), 0)
        var deadline = Instant.now + settings.connectLimit
        while true {
            // What the broker has answered lies unread while there is no room, and what it is asked unsent.
            if isBehind || !maySend { deadline = .now + settings.connectLimit }
            if control.isStopped {
                leave(link)
                throw .stopped
            }
            if subscribedAt == nil, Instant.now >= deadline {
                throw .lost("the broker granted no subscription within \(settings.connectLimit)")
            }
            try renewIfChanged(link)
            try round(link, until: subscribedAt == nil ? deadline : nil)
        }
    }

    /// Waits for room before a link is made, which would only bring what has none.
    private func awaitRoom() throws(End) {
        while isFull {
            if control.isStopped { throw .stopped }
            _ = wait(-1, 0, until: [])
        }
    }

    private func makeLink() throws(End) -> Link {
        let files: LinkFiles.Contents
        fileLook.use()
        do throws(MQTTError) { files = try start.files.read() } catch { throw .lost(error.description) }
        guard control.goAway() else { throw .stopped }
        do throws(Link.Failure) {
            let link = try Link(settings, clientID: clientID, arrivals)
            try link.connect(settings, files)
            // Nobody may be there any more; the first round would find out too late.
            if control.comeBack() { return link }
        } catch {
            if control.comeBack() { throw .lost(error) }
        }
        throw .stopped
    }

    /// Polls, and does what there is to do then.
    private func round(_ link: borrowing Link, until deadline: Instant?) throws(End) {
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
    private func read(_ link: borrowing Link) throws(End) {
        var failure: Link.Failure?
        arrivals.areLate = lag.isBehind(.now)
        let first = arrivals.count
        repeat {
            let before = arrivals.count
            do throws(Link.Failure) { try link.read() } catch { failure = error }
            // Pings are not counted; if there is more, the next poll says so at once. Without a socket libmosquitto
            // would say again and again that the link has ended.
            if arrivals.count == before || link.descriptor < 0 { break }
            // What follows from an answer must not wait behind acknowledgements.
            if !arrivals.answers.isEmpty { break }
        } while failure == nil && arrivals.payloads.count < BatchedIntake.largestBatch
            && arrivals.bytes < Self.mostBytes
        lag.read(arrivals.count - first, window: Link.usualWindow, .now)
        for answer in arrivals.takeAnswers() { try heed(answer, link) }
        for notice in arrivals.takeNotices() { intake.report(.ignored(notice)) }
        if let failure { throw .lost(failure) }
        guard link.descriptor >= 0 else { throw .lost("the broker ended the link", isByBroker: true) }
        if arrivals.takeAcknowledgement(), !link.wantsWrite {
            throw .final(.acknowledgesEarly(Link.libraryVersion))
        }
        try handOver()
        try write(link)
        publish(arrivals.counts)
    }

    /// Ends the link in good order, unless it is none yet or that would acknowledge what was not taken in.
    func leave(_ link: borrowing Link) {
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
    private func write(_ link: borrowing Link) throws(End) {
        guard maySend else { return }
        let retried = unended.retried
        guard retried == 0 else {
            let whence = settings.cleanSession ? "a clean session loses them" : "the broker sends all again"
            throw .lost("\(counted(retried, "message")) \(retried == 1 ? "was" : "were") not dealt with; \(whence)")
        }
        unacknowledged = 0
        try lost { () throws(Link.Failure) in try link.write() }
        isSending = link.wantsWrite
    }

    func lost(_ call: () throws(Link.Failure) -> Void) throws(End) {
        do throws(Link.Failure) { try call() } catch { throw .lost(error) }
    }

    // MARK: Handing over

    /// Whether there was no room, and nobody has told of some since.
    private var isFull: Bool {
        if case .untilSignal = batches.wait { true } else { false }
    }

    /// When to try again what was refused; nil for nothing, and where only a signal says so.
    private var nextTry: Instant? {
        guard !arrivals.payloads.isEmpty else { return nil }
        switch batches.wait {
        case .none: return .now
        case .upTo(let time): return .now + time
        case .untilSignal: return nil
        }
    }

    /// Has the intake take what has come, in order, as much of it as there is room for.
    ///
    /// - Throws: ``End/lost(_:)`` when the inbox failed and the broker sends all of it again on another link.
    private func handOver() throws(End) {
        while !arrivals.payloads.isEmpty, case .none = batches.wait {
            do throws(IntakeRefusal) {
                let receipts = try batches.take(arrivals.payloads)
                arrivals.removeFirst(receipts.count)
                watch(receipts)
            } catch {
                switch error {
                case .full: break
                case .stopping: throw .stopped
                case .failed(let error):
                    // Another link would bring nothing again of a clean session or of quality 0: what is here is all.
                    guard !arrivals.allComeAgain else { throw .lost("the inbox could not keep what came: \(error)") }
                    batches.pauseAfterFailure()
                }
            }
        }
    }

    /// Has acknowledgements wait for what was taken in and is not safe yet.
    private func watch(_ receipts: [Receipt]) {
        guard settings.quality == .one, settings.acknowledges == .whenEnded else { return }
        unacknowledged += receipts.count
        let signal = control.signal
        for receipt in receipts where !receipt.isStored { unended.add(receipt) { signal.raise() } }
    }

    // MARK: Waiting

    /// Waits until the socket is ready, somebody wakes the thread, or the first of the times has come.
    ///
    /// - Returns: what the socket is ready for.
    private func wait(_ descriptor: Int32, _ events: Int32, until times: [Instant?]) -> Int32 {
        var polls = [
            pollfd(fd: control.signal.descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: descriptor, events: Int16(events), revents: 0),
        ]
        pollAll(&polls, for: times.compactMap(\.self).min().map { Instant.now.duration(to: $0) })
        if polls[0].revents != 0 { control.signal.clear() }
        return Int32(polls[1].revents)
    }
}
#endif
