/// Times as RFC 3339 writes them, such as `2026-11-21T12:00:00Z`.
package enum RFC3339 {
    /// The milliseconds since 1970 of a time in the years 1 to 9999; nil for any other text.
    ///
    /// A fraction may have any number of digits, of which three count. A time with an offset, such as `13:00:00+01:00`,
    /// is converted to UTC. A leap second becomes the following second.
    package static func milliseconds(_ text: String) -> Int64? {
        var reader = FixedDigits(text)
        guard let year = reader.number(4), reader.take("-"), let month = reader.number(2), reader.take("-"),
            let day = reader.number(2), reader.take("T", "t"), let hour = reader.number(2), reader.take(":"),
            let minute = reader.number(2), reader.take(":"), let second = reader.number(2)
        else { return nil }
        guard let fraction = reader.milliseconds(), let offset = reader.offset(), reader.isAtEnd else { return nil }
        guard year >= 1, (1...12).contains(month), hour <= 23, minute <= 59, second <= 60 else { return nil }
        let days = days(year, month, day)
        // A day that the month does not have is converted to one of the next month.
        guard GregorianDate.date(days) == (year, month, day) else { return nil }
        let seconds = days * 86_400 + hour * 3600 + minute * 60 + second - offset * 60
        guard second < 60 || seconds % 86_400 == 0 else { return nil }
        return seconds * 1000 + fraction
    }

    private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let yearFromMarch = month <= 2 ? year - 1 : year
        let monthFromMarch = (month + 9) % 12
        let leapDays = yearFromMarch / 4 - yearFromMarch / 100 + yearFromMarch / 400
        return yearFromMarch * 365 + leapDays + (153 * monthFromMarch + 2) / 5 + day - 1 - 719_468
    }
}

private struct FixedDigits {
    private var left: ArraySlice<UInt8>

    init(_ text: String) { left = Array(text.utf8)[...] }

    var isAtEnd: Bool { left.isEmpty }

    mutating func number(_ count: Int) -> Int64? {
        guard left.count >= count, left.prefix(count).allSatisfy(\.isDigit) else { return nil }
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
        let digits = left.prefix(while: \.isDigit)
        left = left[digits.endIndex...]
        let padded = digits.prefix(3) + [UInt8](repeating: UInt8(ascii: "0"), count: max(0, 3 - digits.count))
        return digits.isEmpty ? nil : padded.reduce(0) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
    }

    mutating func offset() -> Int64? {
        if take("Z", "z") { return 0 }
        let isAhead = take("+")
        guard isAhead || take("-"), let hours = number(2), take(":"), let minutes = number(2), hours <= 23,
            minutes <= 59
        else { return nil }
        return (hours * 60 + minutes) * (isAhead ? 1 : -1)
    }
}

/// Calendar dates in UTC, of the proleptic Gregorian calendar.
package enum GregorianDate {
    /// A time in milliseconds since 1970 as `2014-06-27T04:54:26.395Z`, with or without the fraction.
    package static func text(_ milliseconds: Int64, fraction: Bool) -> String {
        let (days, rest) = divide(milliseconds, by: 86_400_000)
        let (year, month, day) = date(days)
        let (seconds, milliseconds) = divide(rest, by: 1000)
        let clock = [seconds / 3600, seconds / 60 % 60, seconds % 60].map { $0.digits(2) }.joined(separator: ":")
        return "\(year.digits(4))-\(month.digits(2))-\(day.digits(2))T\(clock)"
            + (fraction ? ".\(milliseconds.digits(3))Z" : "Z")
    }

    package static func date(_ days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        // Counted from 1 March of the year 0, so that a leap day ends its year; 400 years are 146,097 days.
        let (era, dayOfEra) = divide(days + 719_468, by: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        return (
            era * 400 + yearOfEra + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        )
    }

    /// The quotient that is rounded down, and the rest that is never negative.
    package static func divide(_ number: Int64, by divisor: Int64) -> (quotient: Int64, rest: Int64) {
        let rest = (number % divisor + divisor) % divisor
        return ((number - rest) / divisor, rest)
    }
}

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
