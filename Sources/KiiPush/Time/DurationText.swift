extension Duration {
    /// The units of a duration in a rules file.
    private static let ruleUnits: [(name: String, duration: Duration)] = [
        ("ms", .milliseconds(1)), ("s", .seconds(1)), ("m", .seconds(60)), ("h", .seconds(3600)),
        ("d", .seconds(86_400)),
    ]

    /// Reads a duration of a rules file: a number, with or without a fraction, and `ms`, `s`, `m`, `h` or `d`; nil if
    /// it is not one, or longer than a hundred years of 365 days.
    package init?(rule text: String) {
        let bytes = Array(text.utf8)
        let number = bytes.prefix { $0.isDigit || $0 == UInt8(ascii: ".") }
        let name = String(decoding: bytes.dropFirst(number.count), as: UTF8.self)
        let parts = number.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard let unit = Self.ruleUnits.first(where: { $0.name.isExactly(name) })?.duration,
            parts.count == 1 || parts.count == 2, let whole = Self.digits(parts[0], upTo: 15)
        else { return nil }
        self = unit * whole.value
        if parts.count == 2 {
            guard let fraction = Self.digits(parts[1], upTo: 4) else { return nil }
            self += unit * fraction.value / fraction.scale
        }
        guard self <= .seconds(36_500 * 86_400) else { return nil }
    }

    private static func digits(_ bytes: ArraySlice<UInt8>, upTo most: Int) -> (value: Int64, scale: Int64)? {
        guard !bytes.isEmpty, bytes.count <= most else { return nil }
        return bytes.reduce((0, 1)) { ($0.0 * 10 + Int64($1 &- UInt8(ascii: "0")), $0.1 * 10) }
    }

    /// The duration in the form of a rules file, in the largest unit that leaves no fraction.
    package var ruleText: String {
        let nanoseconds = inNanoseconds
        guard nanoseconds != 0 else { return "0s" }
        for (name, unit) in Self.ruleUnits.reversed() where nanoseconds % unit.inNanoseconds == 0 {
            return "\(nanoseconds / unit.inNanoseconds)\(name)"
        }
        // Not whole milliseconds: a fraction of four digits, down to 100 ns.
        return "\(nanoseconds / 1_000_000).\((nanoseconds % 1_000_000 / 100).digits(4))ms"
    }
}
