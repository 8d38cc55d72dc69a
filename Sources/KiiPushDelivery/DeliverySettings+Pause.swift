import KiiPush

extension DeliverySettings {
    /// How long to wait after so many shortages in a row, from 1 on; jitter as for a failure.
    static func pause(afterShortages count: Int, _ jitter: Double) -> Duration {
        var settings = DeliverySettings()
        (settings.backoff, settings.maxBackoff) = (.milliseconds(100), .seconds(10))
        return settings.pause(after: count, jitter)
    }
}
