extension Duration {
    private static let units: [(name: String, seconds: Int64)] = [("s", 1), ("m", 60), ("h", 3600), ("d", 86_400)]

    /// The duration in words, rounded up to a second and reduced to its two largest units: `59m 30s`.
    package var inWords: String {
        let (whole, fraction) = components
        var rest = whole + (fraction > 0 ? 1 : 0)
        var words: [String] = []
        for unit in Self.units.reversed() where words.count < 2 {
            let count = rest / unit.seconds
            rest -= count * unit.seconds
            // Nobody needs to know that 3 days and 5 seconds are left.
            if count == 0 { if words.isEmpty { continue } else { break } }
            words.append("\(count)\(unit.name)")
        }
        return words.isEmpty ? "0s" : words.joined(separator: " ")
    }
}
