import Synchronization

// Makes the stamps of handlers, and judges stamps found in objects.

extension LoopGuard {
    package func makeStamp(
        _ lineage: Lineage, for messageID: UInt64, _ message: PushMessage, arrivedAt: MonotonicInstant
    ) -> Lineage {
        let (now, time, origin) = (now, message.serverTime, origin)
        return state.withLock { state in
            state.stamps.learn(time, arrivedAt: arrivedAt, now: now)
            return state.stamps.make(lineage, by: origin, for: messageID, now: now)
        }
    }

    package func cause(
        of messageID: UInt64, _ message: PushMessage, arrivedAt: MonotonicInstant, found stamp: Lineage,
        modifiedAt: Int64?
    ) -> Lineage? {
        let hasObject = message.storage.classified.hasObject
        var finding = StampFinding(
            stamp, modifiedAt, message, object: hasObject ? ResourceKey(objectOf: message, secret) : nil)
        finding.messageID = messageID
        finding.arrivedAt = arrivedAt
        let (now, time) = (now, message.serverTime)
        return state.withLock { [finding] state in
            var finding = finding
            finding.isStrangers = state.identities.author(of: message) == .stranger
            state.stamps.learn(time, arrivedAt: arrivedAt, now: now)
            return state.stamps.cause(finding, hops: state.settings.hops, now: now)
        }
    }
}
