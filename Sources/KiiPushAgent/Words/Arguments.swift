import KiiPush
import KiiPushSystem

/// What the tables of options have in common: mistakes, and parsers of values.
package enum Arguments {
    /// Why a command line is wrong, for the person who typed it.
    package struct Mistake: Error {
        package let text: String

        package init(text: String) { self.text = text }

        /// An unknown option; `known` need not contain `--help`.
        package init(unknown option: String, known: [String]) {
            let nearest = Suggestion.of(option, among: known + ["--help"])
            text = "unknown option \(escaped(option))" + (nearest.map { "; did you mean \($0)?" } ?? "")
        }
    }

    /// The message about an unknown command: the probable one, or all known ones.
    package static func unknown(command: String, known: [String]) -> String {
        let nearest = Suggestion.of(command, among: known).map { "did you mean '\($0)'?" }
        let all = known.dropLast().joined(separator: ", ") + " and " + (known.last ?? "")
        return "unknown command '\(escaped(command))'; " + (nearest ?? "the commands are \(all)")
    }

    /// Refuses operands, for commands without any; `hint` says where an operand probably belongs.
    package static func none(_ operands: [String], hint: String? = nil) throws(Mistake) {
        guard let operand = operands.first else { return }
        throw Mistake(text: "unexpected argument '\(escaped(operand))'" + (hint.map { "; \($0)" } ?? ""))
    }

    /// Parses values by `read`; the error for another one says what the option takes.
    package static func value<Value>(
        _ what: String, _ read: @escaping @Sendable (String) -> Value?
    ) -> @Sendable (_ option: String, _ text: String) throws(Mistake) -> Value {
        { option, text throws(Mistake) in
            if let value = read(text) { return value }
            throw Mistake(text: "\(option) takes \(what) not '\(escaped(text))'")
        }
    }

    /// Parses a time, in milliseconds since 1970; `note` is added to the error message, after the unit.
    package static func milliseconds(_ note: String = "") -> @Sendable (String, String) throws(Mistake) -> Int64 {
        value("milliseconds since 1970\(note),") { text in Int64(text).flatMap { $0 >= 0 ? $0 : nil } }
    }

    package static func number(_ range: ClosedRange<Int>) -> @Sendable (String, String) throws(Mistake) -> Int {
        let most = range.upperBound == .max ? " on" : " to \(range.upperBound)"
        return value("a number from \(range.lowerBound)\(most),") { text in
            Int(text).flatMap { range.contains($0) ? $0 : nil }
        }
    }
}
