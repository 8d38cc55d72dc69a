extension String {
    /// The first position of a text in this one; nil if there is none.
    ///
    /// The standard library's `firstRange(of:)` and `contains(_:)` of a string would add the regular-expression engine
    /// to the tool, a megabyte in a static one.
    func firstIndex(ofText text: String) -> Index? { indices.first { self[$0...].hasPrefix(text) } }
}
