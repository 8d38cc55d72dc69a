#if MQTT
import CLibrary
import KiiPush
import KiiPushDelivery
import KiiPushSystem

/// The work of a transport's thread: keeps a connection, and acknowledges messages only after the intake has accepted
/// them.
///
/// One round is: poll, read some messages, submit them together, write. libmosquitto queues an acknowledgement for each
/// message as it reads it, and sends nothing of its queue before the write.
final class MQTTSession {
    /// Why a connection's rounds end.
    enum End: Error {
        case stopped
        /// The connection is lost or unusable, and whether the broker closed it without a reason, or stopped
        /// responding; another one may work.
        case lost(String, isByBroker: Bool = false)
        /// The broker refuses this client; a retry may succeed.
        case refused(String)
        /// The files have changed, and a new connection is to use them.
        case renewed
        /// No connection can ever work.
        case final(MQTTError)

        /// Why the connection is lost.
        var what: String { if case .lost(let what, _) = self { what } else { "\(self)" } }
    }

    typealias Instant = ContinuousClock.Instant

    let transport: MQTTTransport
    let settings: MQTTSettings
    let intake: PushIntake
    let control: Control
    let arrivals: MosquittoInbox
    private let clientID: String
    var pauses: LinkPauses
    var files: LinkFiles
    /// The settings of encryption that the last connections used, with the files of that time.
    private var encryption: (context: OpenSSL.Context, files: [FileStamp], madeAt: Instant)?

    var batches: BatchedIntake
    /// Messages of the connection that are in memory only.
    var unended = Unended()
    /// How many messages were accepted since acknowledgements were last sent.
    var unacknowledged = 0

    /// Whether the socket may hold data that has not been read for a while.
    var isBehind = false
    /// Whether a packet may be partly sent, so that nothing may be sent past it.
    var isSending = false
    /// The keep-alive of this connection: that of the settings, unless the broker demands another.
    var keepAliveSeconds = 0
    /// When the session's own ping is due; nil while libmosquitto sends pings.
    var nextPing: Instant?

    /// Whether an earlier connection was subscribed, so that a session should exist.
    var hadLink = false
    /// Whether the broker has accepted the connection, possibly long before the subscription.
    var isAccepted = false
    /// The highest quality of service of messages that the broker takes, as far as known.
    var quality = MQTTSettings.Quality.one
    var isSessionPresent = false
    /// Whether a connection found no session where there should be one, and that was not told yet.
    var isSessionLost = false
    var hasToldOfBirth = false
    /// The id of the birth message's packet on this connection; nil before it.
    var birthID: Int32?
    /// The subscriptions that the broker has not answered, by the ids of the requests.
    var requested: [Int32: MQTTSettings.Subscription] = [:]
    var areRequestsSent = false
    /// The qualities of service that it has granted.
    var granted: Set<Int32> = []
    var isBelowRequest = false
    /// When the connection was subscribed; nil while it is not.
    var subscribedAt: Instant?
    var retained: RetainedFile
    var lag = ReadLag()

    init(_ transport: MQTTTransport, _ intake: PushIntake, _ control: Control) {
        (self.transport, self.intake, self.control) = (transport, intake, control)
        settings = transport.settings
        files = LinkFiles(settings)
        // 23 characters, the most that MQTT 3.1 allows.
        clientID =
            settings.clientID.isEmpty
            ? "kiipush-\(String(UInt64.random(in: 1 << 63 ... .max), radix: 36))" : settings.clientID
        retained = RetainedFile(settings.retainedFile)
        arrivals = MosquittoInbox(settings, clientID: clientID, retained: retained.kept)
        pauses = LinkPauses(settings, clientID: clientID)
        batches = BatchedIntake(intake, control.signal)
        isSessionLost = settings.hadSession && lossFile.map { FileStamp($0).error == nil } ?? false
    }

    /// Works until the transport is to end, or a permanent error occurs.
    func serve() -> Result<Void, MQTTError> {
        while true {
            do throws(End) {
                try serveLink()
            } catch {
                // Before the end is reported: its listener may free capacity at once.
                let wasFull = isFull
                let gap = isHeld ? possibleGap(hadSession: hadLink || settings.hadSession) : nil
                transport.outgoing.publishAgain()
                requested = [:]
                if !unended.isEmpty || unended.retried > 0 { arrivals.forgetRetained() }
                transport.counts = arrivals.counts
                if case .final(let error) = error { return .failure(error) }
                if case .renewed = error {
                    tellRenewal()
                    continue
                }
                if case .lost(let what, let isByBroker) = error, pause(tellLoss(what, isByBroker), wasFull, gap) {
                    continue
                }
                if case .refused(let why) = error, pause(tellRefusal(why), wasFull, gap) { continue }
                reportLeft()
                return .success(())
            }
        }
    }

    /// Waits before the next connection, and submits payloads that are never redelivered; false at the end.
    ///
    /// If the inbox was full, capacity ends the pause: the lost connection says nothing about the broker then. Payloads
    /// that were held until a gap is reported are handled after it here, too.
    private func pause(_ pause: Duration, _ wasFull: Bool, _ gap: (why: String, cause: Gap.Cause?)?) -> Bool {
        arrivals.removeWhatComesAgain()
        if let gap, !arrivals.payloads.isEmpty {
            intake.report(.possibleGap(gap.why, cause: gap.cause))
            remember(isSessionLost: false)
        }
        let end = Instant.now + pause
        while !control.isStopped, end > .now || !arrivals.payloads.isEmpty {
            if (try? handOver()) == nil { return false }
            if wasFull, !isFull, arrivals.payloads.isEmpty { break }
            // The broker may accept another password or certificate.
            if arrivals.payloads.isEmpty, files.areOthers() { break }
            _ = wait(-1, 0, until: arrivals.payloads.isEmpty ? [end, files.due] : [nextTry])
        }
        return !control.isStopped
    }

    /// Reports that the connection is lost, and returns the pause before the next.
    ///
    /// Before the first connection has succeeded, the settings may be wrong: then it says what was tried.
    private func tellLoss(_ what: String, _ isByBroker: Bool) -> Duration {
        let held = subscribedAt?.duration(to: .now) ?? .zero
        subscribedAt = nil
        var why = what
        if !hadLink {
            // Before MQTT 5, a broker only closes the link if it takes no will with this quality of service.
            if isByBroker, !isAccepted, settings.version != .v5 { quality = quality == .one ? .zero : .one }
            why = "\(settings.host):\(settings.port): \(what)\(advice(what, isByBroker))"
        }
        let (words, pause) = pauses.afterLoss(why, isByBroker: isByBroker, held: held, random: transport.random())
        intake.report(.disconnected(words, retryIn: pause))
        return pause
    }

    /// What to check when the first connection is lost; the words are OpenSSL's and libmosquitto's.
    private func advice(_ what: String, _ isByBroker: Bool) -> String {
        if what.contains(exactly: "host name verification failed") {
            return "; name the broker by a host that is in its certificate"
        }
        // OpenSSL does not say whether the issuer or the time is the reason.
        if what.contains(exactly: "certificate verify failed") {
            let time = "\(UTCDate.now.wholeSeconds), this machine's time"
            return settings.caFile == nil
                ? "; if the broker's authority is your own, name its CA file; else check that the broker's certificate "
                    + "is valid at \(time)"
                : "; check that the CA file is that of the broker's authority, and that each certificate is valid at "
                    + time
        }
        // A broker that sends an alert speaks TLS.
        if what.contains(exactly: "alert certificate required") { return "; name a client certificate and its key" }
        guard isByBroker, !what.contains(exactly: " alert ") else { return "" }
        // Before MQTT 5, some brokers do not answer a subscription that they refuse.
        if isAccepted { return "; check the topic, and what this user may read" }
        return "; check that this port is for links \(settings.usesTLS ? "with" : "without") TLS"
    }

    private func tellRenewal() {
        subscribedAt = nil
        pauses.forgetRefusal()
        intake.report(.disconnected("a file of a certificate, key or password has changed", retryIn: .zero))
    }

    /// Reports a refusal, unless it repeats the last report, and returns the pause.
    private func tellRefusal(_ why: String) -> Duration {
        subscribedAt = nil
        let (words, pause) = pauses.afterRefusal(why, random: transport.random())
        if let words { intake.report(.refused(words, retryIn: pause)) }
        return pause
    }

    private func reportLeft() {
        arrivals.removeWhatComesAgain()
        guard !arrivals.payloads.isEmpty else { return }
        intake.report(
            .possibleGap(
                "\(counted(arrivals.payloads.count, "message")) \(arrivals.payloads.count == 1 ? "was" : "were") not "
                    + "accepted, and will not be sent again", cause: .notAccepted))
    }

    // MARK: A connection

    private func serveLink() throws(End) {
        try awaitRoom()
        let link = try makeLink()
        (isBehind, isSending, isAccepted, nextPing, birthID) = (false, false, false, nil, nil)
        keepAliveSeconds = settings.keepAlive
        (unended, unacknowledged) = (Unended(), 0)
        var deadline = Instant.now + settings.connectLimit
        while true {
            // While the inbox is full, the broker's answers stay unread, and requests unsent.
            if isBehind || !maySend && !isHeld { deadline = .now + settings.connectLimit }
            if control.isStopped {
                leave(link)
                throw .stopped
            }
            if subscribedAt == nil, Instant.now >= deadline {
                throw .lost(
                    "the broker did not \(isAccepted ? "grant every subscription" : "answer") within "
                        + "\(settings.connectLimit)")
            }
            try renewIfChanged(link)
            try round(link, until: subscribedAt == nil ? deadline : nil)
        }
    }

    /// Waits for capacity before connecting: a connection would only deliver what cannot be accepted.
    private func awaitRoom() throws(End) {
        while isFull {
            if control.isStopped { throw .stopped }
            _ = wait(-1, 0, until: [])
        }
    }

    private func makeLink() throws(End) -> MosquittoClient {
        let contents: LinkFiles.Contents
        do throws(MQTTSettingsError) { contents = try files.use() } catch { throw .lost(error.description) }
        guard control.goAway() else { throw .stopped }
        do throws(End) {
            let link = try MosquittoClient(settings, clientID: clientID, arrivals)
            try connect(link, contents)
            // Nobody may wait for the thread any more; the first round would find out too late.
            if control.comeBack() { return link }
        } catch {
            if control.comeBack() { throw error }
        }
        throw .stopped
    }

    /// Connects with the encryption of the last connection, unless a file has changed since, or it is so old that the
    /// system's certificates may have.
    private func connect(_ link: borrowing MosquittoClient, _ contents: LinkFiles.Contents) throws(End) {
        if let kept = encryption, kept.files != files.used || kept.madeAt + settings.fileInterval <= .now {
            encryption = nil
        }
        // A failed connection has an encryption, too.
        defer { encryption = encryption ?? link.encryption.map { ($0, files.used, .now) } }
        try link.connect(settings, contents, encryption?.context, quality)
    }

    // MARK: Waiting

    /// Waits until the socket is ready, the thread is woken, or the earliest of the times; returns the socket's events.
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
