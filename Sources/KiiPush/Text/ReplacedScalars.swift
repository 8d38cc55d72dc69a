extension String {
    /// The text with some characters replaced; the closure returns nil for those that stay.
    package func replacingScalars(_ replacement: (Unicode.Scalar) -> String?) -> String {
        var replaced = ""
        for scalar in unicodeScalars {
            if let text = replacement(scalar) { replaced += text } else { replaced.unicodeScalars.append(scalar) }
        }
        return replaced
    }
}
