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

    /// The date this many days after 1 January 1970.
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
