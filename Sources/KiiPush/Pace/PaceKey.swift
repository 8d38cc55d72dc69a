/// A key by which messages are paced, and its limits.
struct PaceKey {
    let id: ResourceKey
    let level: PacedKey.Level
    let limits: Pace.Limits

    init(_ id: ResourceKey, _ level: PacedKey.Level, _ limits: Pace.Limits) {
        (self.id, self.level, self.limits) = (id, level, limits)
    }
}

extension PaceKey {
    /// All new keys of a route that has a pace of its own.
    init(route digest: DedupeKey, every: Double) {
        self.init(ResourceKey(digest: digest), .route, .newKeys(every: min(every, Pace.letterEvery)))
    }

    /// All new keys of a device's routes with the standard pace.
    static let device = PaceKey(ResourceKey(digest: DedupeKey(first: 0, second: 0)), .device, .newKeys())
}
