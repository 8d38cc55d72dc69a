extension Duration {
    private static let units: [(name: String, milliseconds: Int64)] = [
        ("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000),
    ]

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
