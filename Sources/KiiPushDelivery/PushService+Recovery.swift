// What an earlier process left: what was in flight when it ended first, alone.

import KiiPush

extension PushService {
    /// How often the process must have ended while it handled a message until that is taken for the cause.
    ///
    /// From the second time on it was handled alone. A process that is killed again and again, whatever it does, is
    /// killed once in ten times while it handles some message alone, and may well be while it handles that one next.
    private static let crashesOfGuilty = 4

    /// What an earlier process left.
    private struct Left {
        /// What was in flight when it ended; of that, what has ended it too often is to be quarantined.
        var suspects: [Delivery] = []
        /// What has places of the others.
        var others: [Delivery] = []
    }

    /// Handles what an earlier process left: what may have ended it first, alone.
    func recover() async throws {
        var (left, last) = (Left(), UInt64(0))
        while let end = try await recover(after: last, &left), end > last { last = end }
        let (suspects, others) = (left.suspects, left.others)
        queue(suspects)
        while let delivery = change({ $0.nextRecovered() }) {
            await carryOut(delivery.walk.purpose, of: delivery)
            change { $0.leaveOff(delivery.ticket) }
        }
        change { state in
            if state.phase == .recovering { state.phase = .open }
        }
        queue(others)
    }

    /// Reads a page of what an earlier process left: what finds a place is kept, the rest waits in the inbox.
    ///
    /// - Returns: the number of its last payload; nil where there is none.
    private func recover(after last: UInt64, _ left: inout Left) async throws -> UInt64? {
        let standard = change { $0.delivery }
        let page = try inbox.entries(after: last, limit: 256)
        for entry in page {
            var delivery: Delivery
            do throws(DecodeError) {
                delivery = try self.delivery(entry, standard)
            } catch {
                // The limits were larger then.
                await endUndecodable(entry, error)
                continue
            }
            if entry.crashes >= Self.crashesOfGuilty, entry.crashedAlone { delivery.walk.prepare(for: .quarantine) }
            change { state in
                let hasPlace = delivery.ticket.wasInFlightAtCrash || state.hasPlace(for: delivery.ticket)
                if hasPlace { state.enter(&delivery) } else { state.spill.add(Spill.Item(delivery)) }
            }
            if delivery.ticket.wasInFlightAtCrash {
                left.suspects.append(delivery)
            } else if delivery.hasPlace {
                left.others.append(delivery)
            }
        }
        return page.last?.id
    }

    /// Puts deliveries that have a place into their lanes.
    private func queue(_ deliveries: [Delivery]) {
        change { state in
            for delivery in deliveries { state.queue(delivery) }
        }
    }
}
