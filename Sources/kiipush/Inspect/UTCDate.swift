/// A date and time in UTC, of the years 1 to 9999 of the proleptic Gregorian calendar.
struct UTCDate: CustomStringConvertible {
    private let year: Int64
    private let month: Int64
    private let day: Int64
    private let millisecondsOfDay: Int64

    /// Splits a time; nil when it is outside those years.
    init?(milliseconds: Int64) {
        guard (-62_135_596_800_000...253_402_300_799_999).contains(milliseconds) else { return nil }
        let (days, rest) = Self.divide(milliseconds, by: 86_400_000)
        millisecondsOfDay = rest
        // Counted from 1 March of the year 0, a leap day is the last of its year, and 400 years are 146,097 days.
        let (era, dayOfEra) = Self.divide(days + 719_468, by: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        year = era * 400 + yearOfEra + (month <= 2 ? 1 : 0)
    }

    private static func divide(_ number: Int64, by divisor: Int64) -> (quotient: Int64, rest: Int64) {
        let rest = (number % divisor + divisor) % divisor
        return ((number - rest) / divisor, rest)
    }

    /// As `2014-06-27T04:54:26.395Z`.
    var description: String {
        func digits(_ number: Int64, _ width: Int) -> String {
            let text = String(number)
            return String(repeating: "0", count: max(0, width - text.count)) + text
        }
        let (seconds, milliseconds) = Self.divide(millisecondsOfDay, by: 1000)
        return "\(digits(year, 4))-\(digits(month, 2))-\(digits(day, 2))T\(digits(seconds / 3600, 2)):"
            + "\(digits(seconds / 60 % 60, 2)):\(digits(seconds % 60, 2)).\(digits(milliseconds, 3))Z"
    }
}
