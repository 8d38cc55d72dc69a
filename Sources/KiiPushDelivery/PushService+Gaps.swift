// Gaps: they are handled like messages, and before new messages of their transport.

public import KiiPush

/// The gaps that have not ended.
///
/// At most one is open for each cause and transport: a further one would say the same before the first was handled.
struct OpenGaps {
    /// Those that the inbox has yet to keep, oldest first.
    var unsaved: [Gap] = []
    /// Those in the inbox.
    var open: [Gap] = []

    var isEmpty: Bool { unsaved.isEmpty && open.isEmpty }

    /// Whether new messages of a transport wait for one of them.
    func blocks(_ transport: String) -> Bool {
        (unsaved + open).contains { gap in
            // What replaced a dead letter says nothing about what comes.
            gap.cause != .deadLetterReplaced && gap.transport.map { $0.isExactly(transport) } ?? true
        }
    }

    /// Whether one with this cause and transport waits for its handling.
    func has(_ gap: Gap) -> Bool {
        (unsaved + open).contains { $0.cause == gap.cause && $0.transport == gap.transport }
    }
}

extension PushService {
    /// Has the routes for gaps handle one, before new messages of its transport are accepted.
    ///
    /// Without such a route it does nothing, and while a gap with the same cause and transport waits for its handling.
    /// If the inbox cannot keep it, that is tried again before the next payload is accepted. Transports report theirs by
    /// `TransportEvent.possibleGap(_:cause:)`; call this for what only the program knows, also before ``run()``.
    public func open(_ gap: Gap) {
        guard let message = try? PushMessage(gap.payload(number: 0)), !receiver.match(message).isEmpty else { return }
        change { state in
            guard !state.gaps.has(gap) else { return }
            state.gaps.unsaved.append(gap)
        }
        try? saveGaps()
    }

    /// Puts the gaps that are not saved yet into the inbox.
    ///
    /// - Throws: why one cannot be; what comes behind it must not be accepted then.
    func saveGaps() throws(IntakeRefusal) {
        while true {
            let next: Gap? = change { state in
                guard state.phase.acceptsPayloads, !state.gaps.unsaved.isEmpty else { return nil }
                let gap = state.gaps.unsaved.removeFirst()
                state.gaps.open.append(gap)
                return gap
            }
            guard let next else { return }
            do throws(IntakeRefusal) {
                let receipts = try submit([next.payload(number: clock.wallNow ?? clock.now.nanoseconds)], nil)
                closeAtEnd(next, receipts[0])
            } catch {
                change { state in
                    state.gaps.close(next)
                    state.gaps.unsaved.insert(next, at: 0)
                }
                throw error
            }
        }
    }

    /// Makes new messages wait for a gap that an earlier process has left.
    func follow(_ delivery: Delivery) {
        guard delivery.message.message.storage.isGap, let gap = Gap(delivery.message.message) else { return }
        change { $0.gaps.open.append(gap) }
        closeAtEnd(gap, delivery.ticket.receipt)
    }

    private func closeAtEnd(_ gap: Gap, _ receipt: Receipt) {
        receipt.onEnd { [weak self] _ in self?.change { $0.gaps.close(gap) } }
    }
}

extension OpenGaps {
    fileprivate mutating func close(_ gap: Gap) {
        if let index = open.firstIndex(of: gap) { open.remove(at: index) }
    }
}
