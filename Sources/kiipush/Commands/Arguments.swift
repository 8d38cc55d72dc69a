import KiiPush

/// Reads a command's options and operands, as `getopt_long` would: `--name value`, `--name=value`, `--` ends options.
struct Arguments {
    /// Why a command line is wrong, in words for the person who typed it.
    struct Mistake: Error {
        let text: String

        init(text: String) { self.text = text }

        /// An option that a command does not have; `--help` goes without saying.
        init(unknown option: String, known: [String]) {
            let nearest = Suggestion.of(option, among: known + ["--help"])
            text = "there is no option \(escaped(option))" + (nearest.map { "; did you mean \($0)?" } ?? "")
        }
    }

    /// What to say of a command that there is not: which one was probably meant, else all that there are.
    static func unknown(command: String, known: [String]) -> String {
        let nearest = Suggestion.of(command, among: known).map { "did you mean '\($0)'?" }
        let all = known.dropLast().joined(separator: ", ") + " and " + (known.last ?? "")
        return "there is no command '\(escaped(command))'; " + (nearest ?? "the commands are \(all)")
    }

    private var left: ArraySlice<String>
    /// What is no option, in order.
    private(set) var operands: [String] = []
    private var pendingValue: (option: String, value: String)?

    init(_ arguments: [String]) { left = arguments[...] }

    /// The next option, with its dashes; nil when only operands were left.
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

    /// The value of the option that was just returned.
    mutating func value(of option: String) throws(Mistake) -> String {
        if let pending = pendingValue {
            pendingValue = nil
            return pending.value
        }
        guard let value = left.popFirst() else { throw Mistake(text: "\(option) needs a value") }
        return value
    }
}

// How values are read, for the tables of options.
extension Arguments {
    /// Refuses what is no option, for commands that take nothing else.
    ///
    /// - Parameters:
    ///   - operands: what is no option.
    ///   - hint: where what was probably meant belongs; nil where nobody can tell.
    /// - Throws: what is wrong with the first of them.
    static func none(_ operands: [String], hint: String? = nil) throws(Mistake) {
        guard let operand = operands.first else { return }
        guard let hint else {
            throw Mistake(text: "it takes nothing but options, and '\(escaped(operand))' is none")
        }
        throw Mistake(text: "'\(escaped(operand))' is no option; \(hint)")
    }

    /// Reads a time, in milliseconds since 1970.
    ///
    /// - Parameter note: what the complaint about another text says of it, behind its unit.
    /// - Returns: what an option calls with its name and the text.
    static func milliseconds(_ note: String = "") -> @Sendable (String, String) throws(Mistake) -> Int64 {
        { option, text throws(Mistake) in
            guard let time = Int64(text), time >= 0 else {
                throw Mistake(text: "\(option) takes milliseconds since 1970\(note), not '\(escaped(text))'")
            }
            return time
        }
    }

    /// Reads a number in a range.
    static func number(
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
