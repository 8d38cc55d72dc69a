extension Duration {
    /// The units of a duration in a rules file, with their nanoseconds.
    private static let ruleUnits: [(name: String, nanoseconds: Int64)] = [
        ("ms", 1_000_000), ("s", 1_000_000_000), ("m", 60_000_000_000), ("h", 3_600_000_000_000),
        ("d", 86_400_000_000_000),
    ]

    /// The longest duration in a rules file: a hundred years of 365 days.
    private static let longestOfRules: Int64 = 36_500 * 86_400_000_000_000

    /// Reads a duration of a rules file: a number, with or without a fraction, and `ms`, `s`, `m`, `h` or `d`; nil if
    /// it is not one, or longer than a hundred years.
    package init?(rule text: String) {
        let bytes = Array(text.utf8)
        let number = bytes.prefix { $0.isDigit || $0 == UInt8(ascii: ".") }
        let name = String(decoding: bytes.dropFirst(number.count), as: UTF8.self)
        guard let unit = Self.ruleUnits.first(where: { $0.name.isExactly(name) })?.nanoseconds else { return nil }
        let parts = number.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 1 || parts.count == 2, let whole = Self.digits(parts[0], upTo: 15) else { return nil }
        let (product, overflow) = whole.value.multipliedReportingOverflow(by: unit)
        guard !overflow, product <= Self.longestOfRules else { return nil }
        var total = product
        if parts.count == 2 {
            guard let fraction = Self.digits(parts[1], upTo: 4) else { return nil }
            total += fraction.value * unit / fraction.scale
            guard total <= Self.longestOfRules else { return nil }
        }
        self = .nanoseconds(total)
    }

    private static func digits(_ bytes: ArraySlice<UInt8>, upTo most: Int) -> (value: Int64, scale: Int64)? {
        guard !bytes.isEmpty, bytes.count <= most else { return nil }
        return bytes.reduce((0, 1)) { ($0.0 * 10 + Int64($1 &- UInt8(ascii: "0")), $0.1 * 10) }
    }

    /// The duration in the form of a rules file, in the largest unit that leaves no fraction.
    package var ruleText: String {
        let nanoseconds = inNanoseconds
        let unit = Self.ruleUnits.reversed().first { nanoseconds % $0.nanoseconds == 0 && nanoseconds != 0 }
        guard let unit else {
            // Not whole milliseconds: a fraction of four digits, down to 100 ns.
            guard nanoseconds != 0 else { return "0s" }
            return "\(nanoseconds / 1_000_000).\((nanoseconds % 1_000_000 / 100).digits(4))ms"
        }
        return "\(nanoseconds / unit.nanoseconds)\(unit.name)"
    }
}
