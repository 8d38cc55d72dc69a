import KiiPush
import KiiPushSystem

/// Parses a command's options and operands like `getopt_long`: `--name value`, `--name=value`, `--` ends options.
package struct Arguments {
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

    private var left: ArraySlice<String>
    /// The operands, in order.
    private(set) var operands: [String] = []
    private var pendingValue: (option: String, value: String)?

    init(_ arguments: [String]) { left = arguments[...] }

    /// The next option, with its dashes; nil if only operands are left.
    mutating func nextOption() throws(Mistake) -> String? {
        if let pendingValue { throw Mistake(text: "\(pendingValue.option) takes no value") }
        while let argument = left.popFirst() {
            if argument == "--" {
                operands += left
                left = []
            } else if argument.hasPrefix("--"), let equals = argument.firstIndex(of: "=") {
                let option = String(argument[..<equals])
                pendingValue = (option, String(argument[argument.index(after: equals)...]))
                return option
            } else if argument.hasPrefix("-"), argument != "-" {
                return argument
            } else {
                operands.append(argument)
            }
        }
        return nil
    }

    /// The value of the last returned option.
    mutating func value(of option: String) throws(Mistake) -> String {
        if let pending = pendingValue {
            pendingValue = nil
            return pending.value
        }
        guard let value = left.popFirst() else { throw Mistake(text: "\(option) needs a value") }
        return value
    }
}

// Value parsers for the tables of options.
extension Arguments {
    /// Refuses operands, for commands without any; `hint` says where an operand probably belongs.
    package static func none(_ operands: [String], hint: String? = nil) throws(Mistake) {
        guard let operand = operands.first else { return }
        guard let hint else {
            throw Mistake(text: "unexpected argument '\(escaped(operand))'")
        }
        throw Mistake(text: "unexpected argument '\(escaped(operand))'; \(hint)")
    }

    /// Parses a time, in milliseconds since 1970; `note` is added to the error message, after the unit.
    package static func milliseconds(_ note: String = "") -> @Sendable (String, String) throws(Mistake) -> Int64 {
        { option, text throws(Mistake) in
            guard let time = Int64(text), time >= 0 else {
                throw Mistake(text: "\(option) takes milliseconds since 1970\(note), not '\(escaped(text))'")
            }
            return time
        }
    }

    package static func number(
        _ range: ClosedRange<Int>
    ) -> @Sendable (_ option: String, _ text: String) throws(Mistake) -> Int {
        { option, text throws(Mistake) in
            guard let number = Int(text), range.contains(number) else {
                let most = range.upperBound == .max ? " on" : " to \(range.upperBound)"
                throw Mistake(
                    text: "\(option) takes a number from \(range.lowerBound)\(most), not '\(escaped(text))'")
            }
            return number
        }
    }
}
