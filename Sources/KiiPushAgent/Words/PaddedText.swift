extension String {
    /// The text followed by spaces, `width` characters in all.
    package func padded(to width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - count))
    }
}
