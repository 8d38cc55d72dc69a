extension String {
    /// The text followed by spaces, `width` characters in all.
    func padded(to width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - count))
    }
}
