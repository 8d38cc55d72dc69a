extension Duration {
    private static let units: [(name: String, milliseconds: Int64)] = [
        ("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000),
    ]

    /// The longest that a command line can ask for: a hundred years of 365 days.
    private static let longest: Int64 = 36_500 * 86_400_000

    /// Reads a duration as it is typed: a whole number and `ms`, `s`, `m`, `h` or `d`; nil when it is none, or longer
    /// than a hundred years.
    init?(written text: String) {
        let digits = text.utf8.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        let name = String(decoding: text.utf8[digits.endIndex...], as: UTF8.self)
        guard let number = Int64(String(decoding: digits, as: UTF8.self)),
            let unit = Self.units.first(where: { $0.name == name })
        else { return nil }
        let (product, overflow) = number.multipliedReportingOverflow(by: unit.milliseconds)
        guard !overflow, product <= Self.longest else { return nil }
        self = .milliseconds(product)
    }

    /// The duration in words for a person, cut to its two largest units: `59m 30s`.
    var inWords: String {
        var rest = Int64(self / .milliseconds(1))
        var words: [String] = []
        for unit in Self.units.reversed() where words.count < 2 {
            let count = rest / unit.milliseconds
            rest -= count * unit.milliseconds
            // Nobody wants to know that 3 days and 5 milliseconds are left.
            if count == 0 { if words.isEmpty { continue } else { break } }
            words.append("\(count)\(unit.name)")
        }
        return words.isEmpty ? "0s" : words.joined(separator: " ")
    }
}
