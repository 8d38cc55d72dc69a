// Gaps: they are handled like messages, and before new messages of their transport.

public import KiiPush

/// The gaps that have not ended, oldest first.
struct OpenGaps {
    private struct Open {
        let gap: Gap
        /// Whether the inbox has it.
        var isSaved = false
        /// Whether it has happened again since: what the handler has done may be out of date.
        var isAgain = false
    }

    private var open: [Open] = []
    /// The last one's number, by which the deduplicator tells two gaps apart.
    private var lastNumber = Int64.min

    var all: [Gap] { open.map(\.gap) }

    /// Whether the inbox has yet to keep some.
    var areUnsaved: Bool { open.contains { !$0.isSaved } }

    /// Whether new messages of a transport wait for one of them.
    func blocks(_ transport: String) -> Bool {
        all.contains { gap in
            // What replaced a dead letter says nothing about what comes.
            gap.cause != .deadLetterReplaced && gap.transport.map { $0.isExactly(transport) } ?? true
        }
    }

    /// Adds a gap; of one that is open already, remembers that it has happened again.
    mutating func add(_ gap: Gap) {
        let index = open.firstIndex { $0.gap.cause == gap.cause && $0.gap.transport == gap.transport }
        if let index { open[index].isAgain = open[index].isSaved } else { open.append(Open(gap: gap)) }
    }

    /// Takes the next one that the inbox is to keep, and its payload.
    mutating func saveNext(_ time: Int64) -> (gap: Gap, payload: RawPayload)? {
        guard let index = open.firstIndex(where: { !$0.isSaved }) else { return nil }
        open[index].isSaved = true
        lastNumber = max(time, lastNumber &+ 1)
        return (open[index].gap, open[index].gap.payload(number: lastNumber))
    }

    /// Adds one that is in the inbox.
    mutating func addSaved(_ gap: Gap) { open.append(Open(gap: gap, isSaved: true)) }

    /// Takes down that one could not be kept; that it has happened again is then the same gap.
    mutating func unsave(_ gap: Gap) {
        guard let index = open.firstIndex(where: { $0.gap == gap }) else { return }
        (open[index].isSaved, open[index].isAgain) = (false, false)
    }

    /// Ends one; if it has happened again, it is to be handled once more.
    mutating func close(_ gap: Gap) {
        guard let index = open.firstIndex(where: { $0.gap == gap }) else { return }
        if open.remove(at: index).isAgain { add(gap) }
    }
}

/// Losses of one kind, which are a gap at most once a minute: each would call for the same.
struct Losses {
    /// How many are not reported yet, and the last one.
    private var count = 0
    private var last = ""
    private var reportedAt: MonotonicInstant?
    private var isPlanned = false

    mutating func add(_ reason: String, _ number: Int = 1) { (count, last) = (count + number, reason) }

    /// Takes those that are to be reported now, or returns the pause before that; nil if there are none, or the next
    /// report is planned.
    mutating func take(_ now: MonotonicInstant, atEnd: Bool) -> (count: Int, last: String, pause: Duration)? {
        guard count > 0 else { return nil }
        if !atEnd, let next = reportedAt?.advanced(by: .seconds(60)), next > now {
            defer { isPlanned = true }
            return isPlanned ? nil : (count, last, now.duration(to: next))
        }
        defer { (count, reportedAt, isPlanned) = (0, now, false) }
        return (count, last, .zero)
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

    /// Opens a gap for the payloads of a transport that were dropped or, without one, for the dead letters that have
    /// lost their payloads; at most once a minute.
    func reportLosses(of transport: String?, atEnd: Bool = false) {
        let (merged, now) = (transport == nil ? receiver.takeMergedLetters() : 0, clock.now)
        let losses = change { state in
            if merged > 0 {
                let reason = "the dead letters, or those of one key, are at their bound"
                state.losses[nil, default: Losses()].add(reason, merged)
            }
            return state.losses[transport]?.take(now, atEnd: atEnd)
        }
        guard let losses else { return }
        if losses.pause > .zero {
            start { if await self.pause(losses.pause) { self.reportLosses(of: transport) } }
            return
        }
        guard let transport else { return open(Gap(.deadLetterReplaced, reason: losses.last)) }
        let reason = (losses.count == 1 ? "" : "\(losses.count) payloads are lost; the last: ") + losses.last
        tell(.transport(transport, .possibleGap(reason, cause: .notAccepted)))
        open(Gap(.notAccepted, transport: transport, reason: reason))
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
                let isStopping = state.phase >= .stopping
                return state.gaps.saveNext(time).map { ($0.gap, $0.payload, isStopping) }
            }
            guard let (gap, payload, isStopping) = next else { return }
            do throws(IntakeRefusal) {
                if isStopping {
                    do { _ = try inbox.add([payload]) } catch { throw .stopping }
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
