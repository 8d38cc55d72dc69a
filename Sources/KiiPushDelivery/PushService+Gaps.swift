// Gaps: they are handled like messages, and before new messages of their transport.

public import KiiPush

/// The gaps that have not ended.
struct OpenGaps {
    /// Those that the inbox has yet to keep, oldest first.
    private(set) var unsaved: [Gap] = []
    /// Those in the inbox, and whether they have happened again since: what the handler has done may be out of date.
    private var open: [(gap: Gap, isAgain: Bool)] = []
    /// The last one's number, by which the deduplicator tells two gaps apart.
    private var lastNumber = Int64.min

    var all: [Gap] { open.map(\.gap) + unsaved }

    /// Whether new messages of a transport wait for one of them.
    func blocks(_ transport: String) -> Bool {
        all.contains { gap in
            // What replaced a dead letter says nothing about what comes.
            gap.cause != .deadLetterReplaced && gap.transport.map { $0.isExactly(transport) } ?? true
        }
    }

    /// Adds a gap; of one that is open already, remembers that it has happened again, so at most two wait.
    mutating func add(_ gap: Gap) {
        func isSame(_ other: Gap) -> Bool { other.cause == gap.cause && other.transport == gap.transport }
        if unsaved.contains(where: isSame) { return }
        guard let index = open.firstIndex(where: { isSame($0.gap) }) else { return unsaved.append(gap) }
        open[index].isAgain = true
    }

    /// Takes the next one that the inbox is to keep, and its payload.
    mutating func saveNext(_ time: Int64) -> (gap: Gap, payload: RawPayload)? {
        guard !unsaved.isEmpty else { return nil }
        let gap = unsaved.removeFirst()
        open.append((gap, false))
        lastNumber = max(time, lastNumber &+ 1)
        return (gap, gap.payload(number: lastNumber))
    }

    /// Adds one that is in the inbox.
    mutating func addSaved(_ gap: Gap) { open.append((gap, false)) }

    /// Puts one back that could not be kept.
    mutating func unsave(_ gap: Gap) {
        if let index = open.firstIndex(where: { $0.gap == gap }) { open.remove(at: index) }
        unsaved.insert(gap, at: 0)
    }

    /// Ends one; if it has happened again, it is to be handled once more.
    mutating func close(_ gap: Gap) {
        guard let index = open.firstIndex(where: { $0.gap == gap }) else { return }
        if open.remove(at: index).isAgain { add(gap) }
    }
}

/// Reports of one kind, at most one a minute: each would call for the same.
struct RareReports {
    /// How many events were reported, when the last time, and whether the next time is planned.
    private(set) var reported = 0
    private var lastAt: MonotonicInstant?
    private var isPlanned = false

    /// The pause before events are to be reported, zero for now; nil if all `count` were, or that is planned.
    mutating func pause(_ count: Int, _ now: MonotonicInstant, atEnd: Bool) -> Duration? {
        guard count > reported else { return nil }
        if !atEnd, let next = lastAt?.advanced(by: .seconds(60)), next > now {
            defer { isPlanned = true }
            return isPlanned ? nil : now.duration(to: next)
        }
        (reported, lastAt, isPlanned) = (count, now, false)
        return .zero
    }
}

/// The payloads of a transport that were dropped, since they were larger than the limit.
struct DroppedPayloads {
    private var count = 0
    private var last = ""
    private var reports = RareReports()

    mutating func add(_ what: String, _ limit: Int) {
        count += 1
        last = "\(what) is larger than the limit of \(limit) bytes, and is lost"
    }

    /// The report of those that were not reported, and the pause before it.
    mutating func report(_ now: MonotonicInstant, atEnd: Bool) -> (reason: String, pause: Duration)? {
        let new = count - reports.reported
        guard let pause = reports.pause(count, now, atEnd: atEnd) else { return nil }
        return ("\(new == 1 ? "" : "\(new) payloads are lost; the last: ")\(last)", pause)
    }
}

extension PushService {
    /// Has the routes for gaps handle one, before new messages of its transport are accepted.
    ///
    /// Without such a route it does nothing. A gap with the cause and the transport of one that is open is handled once
    /// more after that one. If the inbox cannot keep it, that is tried again before the next payload is accepted.
    /// Transports report theirs by `TransportEvent.possibleGap(_:cause:)`; call this for what only the program knows,
    /// also before ``run()``.
    public func open(_ gap: Gap) {
        guard let message = try? receiver.decode(gap.payload(number: 0)), !receiver.match(message).isEmpty else {
            return
        }
        change { $0.gaps.add(gap) }
        try? saveGaps()
    }

    /// Opens a gap for payloads of a transport that were dropped, at most once a minute.
    func reportDropped(of transport: String, atEnd: Bool = false) {
        let now = clock.now
        guard let report = change({ $0.dropped[transport]?.report(now, atEnd: atEnd) }) else { return }
        if report.pause > .zero { return startEnding(after: report.pause) { self.reportDropped(of: transport) } }
        tell(.transport(transport, .possibleGap(report.reason, cause: .notAccepted)))
        open(Gap(.notAccepted, transport: transport, reason: report.reason))
    }

    /// Puts the gaps that are not saved yet into the inbox.
    ///
    /// While the service stops, a durable inbox keeps them for the next one.
    ///
    /// - Throws: why one cannot be; what comes behind it must not be accepted then.
    func saveGaps() throws(IntakeRefusal) {
        while true {
            let time = clock.wallNow ?? clock.now.nanoseconds
            let next: (gap: Gap, payload: RawPayload, isStopping: Bool)? = change { state in
                let isStopping = isDurable && state.phase >= .stopping
                guard isStopping || state.phase == .open else { return nil }
                return state.gaps.saveNext(time).map { ($0.gap, $0.payload, isStopping) }
            }
            guard let (gap, payload, isStopping) = next else { return }
            do throws(IntakeRefusal) {
                if isStopping {
                    do { _ = try inbox.add([payload]) } catch { throw .failed(error) }
                } else {
                    closeAtEnd(gap, try submit([payload], nil)[0])
                }
            } catch {
                change { $0.gaps.unsave(gap) }
                throw error
            }
        }
    }

    /// Makes new messages wait for a gap that an earlier process has left.
    func follow(_ delivery: Delivery) {
        guard let gap = gap(of: delivery) else { return }
        change { $0.gaps.addSaved(gap) }
        closeAtEnd(gap, delivery.ticket.receipt)
    }

    /// The gap that a delivery is.
    func gap(of delivery: Delivery) -> Gap? {
        delivery.message.message.storage.isGap ? Gap(delivery.message.message) : nil
    }

    private func closeAtEnd(_ gap: Gap, _ receipt: Receipt) { receipt.onEnd { [weak self] _ in self?.close(gap) } }

    /// Lets new messages pass a gap that has ended, or that nobody tries any more.
    func close(_ gap: Gap) {
        change { $0.gaps.close(gap) }
        try? saveGaps()
    }
}
