/// A number with its noun, in the singular for one: `1 rule`, `2 rules`.
///
/// - Parameters:
///   - number: how many.
///   - noun: what, in the singular; an `s` makes it the plural.
/// - Returns: the words.
package func counted(_ number: some BinaryInteger, _ noun: String) -> String {
    "\(number) \(noun)\(number == 1 ? "" : "s")"
}
