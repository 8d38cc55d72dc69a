extension String {
    /// The text with some characters replaced; one for which the closure returns nil stays.
    package func replacingScalars(_ replacement: (Unicode.Scalar) -> String?) -> String {
        var replaced = ""
        for scalar in unicodeScalars {
            if let text = replacement(scalar) { replaced += text } else { replaced.unicodeScalars.append(scalar) }
        }
        return replaced
    }
}
