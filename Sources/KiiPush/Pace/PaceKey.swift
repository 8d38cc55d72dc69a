/// A key by which messages are paced, and its limits.
struct PaceKey {
    let id: ResourceKey
    let level: PacedKey.Level
    let limits: Pace.Limits

    init(_ id: ResourceKey, _ level: PacedKey.Level, _ limits: Pace.Limits) {
        (self.id, self.level, self.limits) = (id, level, limits)
    }
}

extension ResourceKey {
    /// All new keys of a route; the second half is one that a digest has only by a chance of one in 2^64.
    init(route digest: DedupeKey) {
        self.init(digest: DedupeKey(first: digest.first ^ digest.second, second: 0x726F_7574_6500_0001))
    }

    /// All new keys of a device's routes with the standard pace.
    static let device = ResourceKey(digest: DedupeKey(first: 0, second: 0x6465_7669_6365_0001))
}
