extension Int64 {
    /// The unit in which a time was probably written that should be in milliseconds since 1970; nil if it may be right.
    ///
    /// Judged by its size: as milliseconds, it would be within weeks of 1970 or after the year 5000.
    package var probableUnit: String? {
        switch self {
        case 100_000_000..<100_000_000_000: "seconds"
        case 100_000_000_000_000..<100_000_000_000_000_000: "microseconds"
        case 100_000_000_000_000_000...: "nanoseconds"
        default: nil
        }
    }

    /// What is said of a message whose time this is, if it is probably in another unit.
    package var doubtOfUnit: String? {
        probableUnit.map { "its 'when' is probably in \($0), not milliseconds" }
    }
}
