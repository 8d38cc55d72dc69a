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
        var finding = StampFinding(stamp, modifiedAt, message)
        if message.storage.classified.hasObject { finding.object = ResourceKey(objectOf: message, secret) }
        (finding.messageID, finding.arrivedAt) = (messageID, arrivedAt)
        let (now, time) = (now, message.serverTime)
        return state.withLock { [finding] state in
            state.stamps.learn(time, arrivedAt: arrivedAt, now: now)
            return state.stamps.cause(finding, hops: state.settings.hops, now: now)
        }
    }
}
