// Reads the payloads of an earlier process: those that were in flight when it ended run first, and alone.

import KiiPush

extension PushService {
    /// How many times the process must have ended while it handled a message for that to be taken as the cause.
    ///
    /// After a crash its first attempt runs alone. A process that is killed repeatedly, for any reason, is killed one
    /// time in ten while it handles some message alone, and perhaps again while it handles that message next.
    private static let crashesOfGuilty = 4

    /// Reads the payloads of an earlier process, and lets them run: first, and alone, those that may have ended it.
    func recover() async throws {
        var (suspects, last) = ([Delivery](), UInt64(0))
        while let end = try await recover(after: last, &suspects), end > last { last = end }
        change { [suspects] state in
            state.room.putFirst(suspects: suspects)
            if state.phase == .reading { state.phase = .open }
        }
    }

    /// Reads a page of an earlier process's payloads into the waiting room, but for those that were in flight when it
    /// ended, including those to be quarantined.
    ///
    /// - Returns: the number of its last payload; nil if there is none.
    private func recover(after last: UInt64, _ suspects: inout [Delivery]) async throws -> UInt64? {
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
            // A guilty one may have been put off; in the inbox it would not be known as guilty.
            if delivery.isSuspect || delivery.isGuilty {
                suspects.append(delivery)
            } else if case .disk = change({ [delivery] in $0.room.append(delivery, isOld: true) }) {
                receiver.loopGuard?.forget(delivery.message)
            }
        }
        return page.last?.id
    }
}
