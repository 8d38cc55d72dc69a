// Reads the payloads of an earlier process: those that were in flight when it ended run first, and alone.

import KiiPush

extension PushService {
    /// How many times the process must have ended while it handled a message for that to be taken as the cause.
    ///
    /// After a crash its first attempt runs alone. A process that is killed repeatedly, for any reason, is killed one
    /// time in ten while it handles some message alone, and perhaps again while it handles that message next.
    private static let crashesOfGuilty = 4

    /// The deliveries of an earlier process.
    private struct Left {
        /// Those in flight when it ended, including those to be quarantined.
        var suspects: [Delivery] = []
        /// The others that have a place.
        var others: [Delivery] = []
    }

    /// Reads the payloads of an earlier process, and lets them run: first, and alone, those that may have ended it.
    func recover() async throws {
        var (left, last) = (Left(), UInt64(0))
        while let end = try await recover(after: last, &left), end > last { last = end }
        change { [left] state in
            for delivery in left.suspects { state.lanes.append(delivery) }
            if state.phase == .reading { state.phase = .recovering }
            for delivery in left.others { state.queue(delivery) }
        }
    }

    /// Reads a page of an earlier process's payloads: those that get a place are kept in memory, the rest wait in the
    /// inbox.
    ///
    /// - Returns: the number of its last payload; nil if there is none.
    private func recover(after last: UInt64, _ left: inout Left) async throws -> UInt64? {
        let standard = change { $0.delivery }
        let page = try inbox.entries(after: last, limit: 256)
        for entry in page {
            var delivery: Delivery
            do throws(DecodeError) {
                delivery = try self.delivery(entry, standard)
            } catch {
                // The earlier process had larger limits.
                await endUndecodable(entry, error)
                continue
            }
            follow(delivery)
            if entry.crashes >= Self.crashesOfGuilty, entry.crashedAlone { delivery.isGuilty = true }
            change { state in
                let hasPlace = delivery.isSuspect || state.hasPlace(for: delivery.ticket)
                if hasPlace { state.enter(&delivery) } else { state.spill.add(Spill.Item(delivery)) }
            }
            if delivery.isSuspect {
                left.suspects.append(delivery)
            } else if delivery.hasPlace {
                left.others.append(delivery)
            } else {
                receiver.loopGuard?.forget(delivery.message)
            }
        }
        return page.last?.id
    }
}
