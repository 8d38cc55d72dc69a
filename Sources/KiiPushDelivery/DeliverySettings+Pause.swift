import KiiPush

extension DeliverySettings {
    /// How long to wait after consecutive shortages, counted from 1; jitter as for a failure.
    static func pause(afterShortages count: Int, _ jitter: Double) -> Duration {
        var settings = DeliverySettings()
        (settings.backoff, settings.maxBackoff) = (.milliseconds(100), .seconds(10))
        return settings.pause(after: count, jitter)
    }
}
