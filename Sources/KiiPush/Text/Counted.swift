/// A number with its noun, in the singular for one, and with an `s` otherwise: `1 rule`, `2 rules`.
package func counted(_ number: some BinaryInteger, _ noun: String) -> String {
    "\(number) \(noun)\(number == 1 ? "" : "s")"
}
