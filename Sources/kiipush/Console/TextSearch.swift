extension String {
    /// Where a text begins in this one for the first time; nil where it does not.
    ///
    /// The standard library's `firstRange(of:)` and `contains(_:)` of a string would bring the engine of regular
    /// expressions into the tool, a megabyte of a static one.
    func firstIndex(ofText text: String) -> Index? { indices.first { self[$0...].hasPrefix(text) } }
}
