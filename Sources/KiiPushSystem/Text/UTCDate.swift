#if canImport(Musl)
import Musl
#else
import Glibc
#endif
import KiiPush

/// A date and time in UTC, to the millisecond, in the years 1 to 9999 of the proleptic Gregorian calendar.
public struct UTCDate: Sendable, Hashable, Comparable {
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
    public static var now: UTCDate {
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        let (product, overflow) = Int64(time.tv_sec).multipliedReportingOverflow(by: 1000)
        guard !overflow else { return UTCDate(clamping: time.tv_sec < 0 ? .min : .max) }
        return UTCDate(clamping: product + Int64(time.tv_nsec) / 1_000_000)
    }

    /// The time that is `duration` later, rounded down to milliseconds; at most the end of the year 9999.
    public func advanced(by duration: Duration) -> UTCDate {
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
    public func duration(to other: UTCDate) -> Duration { .milliseconds(other.milliseconds - milliseconds) }

    /// Whether one time is before another.
    public static func < (left: UTCDate, right: UTCDate) -> Bool { left.milliseconds < right.milliseconds }
}

// MARK: - Written

extension UTCDate: CustomStringConvertible {
    /// As `2014-06-27T04:54:26.395Z`.
    public var description: String { text(fraction: true) }

    /// The same, without a zero fraction: `2026-11-21T12:00:00Z`.
    package var shortText: String { text(fraction: milliseconds % 1000 != 0) }

    private func text(fraction: Bool) -> String { GregorianDate.text(milliseconds, fraction: fraction) }
}

// MARK: - Read

extension UTCDate {
    /// Parses a time in RFC 3339, such as `2026-11-21T12:00:00Z`; nil if it is invalid.
    ///
    /// A fraction may have any number of digits, of which three count. A time with an offset, such as `13:00:00+01:00`,
    /// is converted to UTC. A leap second becomes the following second.
    public init?(_ text: String) {
        var reader = FixedDigits(text)
        guard let year = reader.number(4), reader.take("-"), let month = reader.number(2), reader.take("-"),
            let day = reader.number(2), reader.take("T", "t"), let hour = reader.number(2), reader.take(":"),
            let minute = reader.number(2), reader.take(":"), let second = reader.number(2)
        else { return nil }
        guard let fraction = reader.milliseconds(), let offset = reader.offset(), reader.isAtEnd else { return nil }
        guard year >= 1, (1...12).contains(month), hour <= 23, minute <= 59, second <= 60 else { return nil }
        let days = Self.days(year, month, day)
        // A day that the month does not have is converted to one of the next month.
        guard GregorianDate.date(days) == (year, month, day) else { return nil }
        let seconds = days * 86_400 + hour * 3600 + minute * 60 + second - offset * 60
        guard second < 60 || seconds % 86_400 == 0 else { return nil }
        self.init(milliseconds: seconds * 1000 + fraction)
    }

    /// How many days a date is after 1 January 1970.
    private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let yearFromMarch = month <= 2 ? year - 1 : year
        let monthFromMarch = (month + 9) % 12
        let leapDays = yearFromMarch / 4 - yearFromMarch / 100 + yearFromMarch / 400
        return yearFromMarch * 365 + leapDays + (153 * monthFromMarch + 2) / 5 + day - 1 - 719_468
    }
}

/// Parses numbers with a fixed count of digits.
private struct FixedDigits {
    private var left: ArraySlice<UInt8>

    init(_ text: String) { left = Array(text.utf8)[...] }

    var isAtEnd: Bool { left.isEmpty }

    mutating func number(_ count: Int) -> Int64? {
        guard left.count >= count, left.prefix(count).allSatisfy(Self.isDigit) else { return nil }
        defer { left = left.dropFirst(count) }
        return left.prefix(count).reduce(0) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
    }

    mutating func take(_ characters: Unicode.Scalar...) -> Bool {
        guard let byte = left.first, characters.contains(where: { UInt8(ascii: $0) == byte }) else { return false }
        left = left.dropFirst()
        return true
    }

    /// The milliseconds of a fraction, 0 without one; nil for a point without digits.
    mutating func milliseconds() -> Int64? {
        guard take(".") else { return 0 }
        let digits = left.prefix(while: Self.isDigit)
        left = left[digits.endIndex...]
        let padded = digits.prefix(3) + [UInt8](repeating: UInt8(ascii: "0"), count: max(0, 3 - digits.count))
        return digits.isEmpty ? nil : padded.reduce(0) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
    }

    /// The offset from UTC in minutes.
    mutating func offset() -> Int64? {
        if take("Z", "z") { return 0 }
        let isAhead = take("+")
        guard isAhead || take("-"), let hours = number(2), take(":"), let minutes = number(2), hours <= 23,
            minutes <= 59
        else { return nil }
        return (hours * 60 + minutes) * (isAhead ? 1 : -1)
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
}
