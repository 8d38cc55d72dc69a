#if MQTT
import Glibc
import KiiPush
import KiiPushDelivery
import KiiPushLinux

/// The work of a transport's thread: keeps a link, and has what it brings taken in before it is acknowledged.
///
/// One round of a link is: poll, read some messages, have them taken in together, write. libmosquitto queues an
/// acknowledgement for each message as it reads it, and nothing of its queue leaves before the write.
final class MQTTSession {
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

        static func lost(_ failure: MosquittoClient.Failure) -> End {
            .lost(failure.what, isByBroker: failure.isByBroker)
        }
    }

    typealias Instant = ContinuousClock.Instant

    let settings: MQTTSettings
    let intake: PushIntake
    let control: Control
    let arrivals: MosquittoInbox
    private let start: Start
    private let clientID: String
    let publish: (MQTTCounts) -> Void
    var pauses: LinkPauses
    var fileLook: FileLook

    var batches: BatchedIntake
    /// What the link has brought and no disk has.
    var unended = Unended()
    /// How many messages were taken in since acknowledgements left.
    var unacknowledged = 0

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
    var lag = ReadLag()

    init(_ start: Start, _ intake: PushIntake, _ control: Control, _ publish: @escaping (MQTTCounts) -> Void) {
        self.start = start
        settings = start.settings
        self.intake = intake
        self.control = control
        self.publish = publish
        fileLook = FileLook(start.files, every: settings.fileInterval)
        // Of 23 characters, as many as MQTT 3.1 allows.
        clientID =
            settings.clientID.isEmpty
            ? "kiipush-\(String(UInt64.random(in: 1 << 63 ... .max), radix: 36))" : settings.clientID
        arrivals = MosquittoInbox(settings, clientID: clientID)
        pauses = LinkPauses(settings, clientID: clientID)
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
                // Before the end is told: who hears of it may make room at once.
                let wasFull = isFull
                publish(arrivals.counts)
                if case .final(let error) = error { return .failure(error) }
                if case .renewed = error {
                    tellRenewal()
                    continue
                }
                if case .lost(let what, let isByBroker) = error, pause(tellLoss(what, isByBroker), wasFull) { continue }
                if case .refused(let why) = error, pause(tellRefusal(why), wasFull) { continue }
                reportLeft()
                return .success(())
            }
        }
    }

    /// Waits before the next link, and hands over what nobody sends again; false when the transport is to end.
    ///
    /// Where there was no room, the wait is over when there is: that the link went says nothing of the broker then.
    private func pause(_ pause: Duration, _ wasFull: Bool) -> Bool {
        arrivals.removeWhatComesAgain()
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
        subscribedAt = nil
        let (words, pause) = pauses.afterLoss(what, isByBroker: isByBroker, held: held, random: start.random())
        intake.report(.disconnected(words, retryIn: pause))
        return pause
    }

    /// Tells that the link is made anew at once.
    private func tellRenewal() {
        subscribedAt = nil
        pauses.forgetRefusal()
        intake.report(.disconnected("a file of a certificate, key or password has changed", retryIn: .zero))
    }

    /// Tells that the broker refuses, unless that is what was told last, and returns how long to wait.
    private func tellRefusal(_ why: String) -> Duration {
        subscribedAt = nil
        let (words, pause) = pauses.afterRefusal(why, random: start.random())
        if let words { intake.report(.refused(words, retryIn: pause)) }
        return pause
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

    private func makeLink() throws(End) -> MosquittoClient {
        let files: LinkFiles.Contents
        fileLook.use()
        do throws(MQTTError) { files = try start.files.read() } catch { throw .lost(error.description) }
        guard control.goAway() else { throw .stopped }
        do throws(MosquittoClient.Failure) {
            let link = try MosquittoClient(settings, clientID: clientID, arrivals)
            try link.connect(settings, files)
            // Nobody may be there any more; the first round would find out too late.
            if control.comeBack() { return link }
        } catch {
            if control.comeBack() { throw .lost(error) }
        }
        throw .stopped
    }

    // MARK: Waiting

    /// Waits until the socket is ready, somebody wakes the thread, or the first of the times has come.
    ///
    /// - Returns: what the socket is ready for.
    func wait(_ descriptor: Int32, _ events: Int32, until times: [Instant?]) -> Int32 {
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
