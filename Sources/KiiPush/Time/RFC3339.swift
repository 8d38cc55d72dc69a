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

    /// The offset from UTC in minutes.
    mutating func offset() -> Int64? {
        if take("Z", "z") { return 0 }
        let isAhead = take("+")
        guard isAhead || take("-"), let hours = number(2), take(":"), let minutes = number(2), hours <= 23,
            minutes <= 59
        else { return nil }
        return (hours * 60 + minutes) * (isAhead ? 1 : -1)
    }
}
