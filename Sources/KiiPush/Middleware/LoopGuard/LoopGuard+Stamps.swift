import Synchronization

// Stamps of handlers: making them, and judging those that stand in objects.

extension LoopGuard {
    /// Makes a stamp for what the handler of a message sends on.
    func makeStamp(
        _ lineage: Lineage, for messageID: UInt64, _ message: PushMessage, arrivedAt: MonotonicInstant
    ) -> Lineage {
        let (now, time) = (now, message.serverTime)
        return state.withLock { state in
            state.stamps.learn(time, arrivedAt: arrivedAt, now: now)
            return state.stamps.make(lineage, for: messageID, now: now)
        }
    }

    /// Whether a stamp that stands in an object belongs to the object's last write.
    func believes(
        _ stamp: Lineage, modifiedAt: Int64?, in message: PushMessage, arrivedAt: MonotonicInstant
    ) -> Bool {
        let hasObject = message.storage.reading.hasObject
        let finding = StampMemory.Finding(
            stamp, modifiedAt, message, object: hasObject ? PlaceKey(objectOf: message, secret) : nil)
        let (now, time) = (now, message.serverTime)
        return state.withLock { state in
            state.stamps.learn(time, arrivedAt: arrivedAt, now: now)
            return state.stamps.believes(finding, now: now)
        }
    }
}

extension StampMemory.Finding {
    init(_ stamp: Lineage, _ modifiedAt: Int64?, _ message: PushMessage, object: PlaceKey? = nil) {
        let isOfKii = message.kind != .directPush
        self.init(
            stamp: stamp, modifiedAt: modifiedAt, eventModifiedAt: isOfKii ? message.modifiedAt : nil,
            sentAt: isOfKii ? message.sentAt : nil, object: object)
    }
}
