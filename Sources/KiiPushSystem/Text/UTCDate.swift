import KiiPush

/// A date and time in UTC, to the millisecond, in the years 1 to 9999 of the proleptic Gregorian calendar.
public struct UTCDate: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// Milliseconds since the beginning of 1970; negative before.
    public let milliseconds: Int64

    private static let range: ClosedRange<Int64> = -62_135_596_800_000...253_402_300_799_999

    /// Makes a time; nil if it is outside those years.
    public init?(milliseconds: Int64) {
        guard Self.range.contains(milliseconds) else { return nil }
        self.milliseconds = milliseconds
    }

    private init(clamping milliseconds: Int64) {
        self.milliseconds = min(max(milliseconds, Self.range.lowerBound), Self.range.upperBound)
    }

    /// The machine's wall-clock time; before the network has set it, it may be years off.
    public static var now: UTCDate { UTCDate(clamping: SystemClock().wallNow ?? 0) }

    /// The time that is `duration` later, rounded down to milliseconds; at most the end of the year 9999.
    package func advanced(by duration: Duration) -> UTCDate {
        let added = Int64(clamping: duration.attoseconds / 1_000_000_000_000_000)
        let (sum, overflow) = milliseconds.addingReportingOverflow(added)
        return UTCDate(clamping: overflow ? (added < 0 ? .min : .max) : sum)
    }

    /// The beginning of the next second, or this time if it begins one.
    package var roundedUpToSecond: UTCDate {
        let (seconds, rest) = GregorianDate.divide(milliseconds, by: 1000)
        return rest == 0 ? self : UTCDate(clamping: (seconds + 1) * 1000)
    }

    /// How much later `other` is; negative when it is earlier.
    package func duration(to other: UTCDate) -> Duration { .milliseconds(other.milliseconds - milliseconds) }

    /// Whether one time is before another.
    public static func < (left: UTCDate, right: UTCDate) -> Bool { left.milliseconds < right.milliseconds }

    /// As `2014-06-27T04:54:26.395Z`.
    public var description: String { text(fraction: true) }

    /// The same, without a zero fraction: `2026-11-21T12:00:00Z`.
    package var shortText: String { text(fraction: milliseconds % 1000 != 0) }

    /// The same, rounded down to a second.
    package var wholeSeconds: String { text(fraction: false) }

    private func text(fraction: Bool) -> String { GregorianDate.text(milliseconds, fraction: fraction) }

    /// Parses a time in RFC 3339, such as `2026-11-21T12:00:00Z`; nil if it is invalid.
    ///
    /// A fraction may have any number of digits, of which three count. A time with an offset, such as `13:00:00+01:00`,
    /// is converted to UTC. A leap second becomes the following second.
    package init?(_ text: String) {
        guard let milliseconds = RFC3339.milliseconds(text) else { return nil }
        self.init(milliseconds: milliseconds)
    }
}
