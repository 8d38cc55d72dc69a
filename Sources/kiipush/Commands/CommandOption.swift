/// An option of a command: its row in the table that the parser, the help, the manual and the completions come from.
///
/// A row cannot stand for an option that nobody reads, nor can an option be read that has no row: what the option does
/// is in the row.
struct CommandOption<Target>: Sendable {
    /// What people read of it.
    let text: OptionText
    /// Takes the option's value, or an empty text where it has none.
    let take: @Sendable (inout Target, _ value: String) throws(Arguments.Mistake) -> Void

    /// An option without a value.
    static func flag(_ name: String, _ help: String, _ set: @escaping @Sendable (inout Target) -> Void) -> Self {
        Self(text: OptionText(name: name, help: help)) { target, _ throws(Arguments.Mistake) in set(&target) }
    }

    /// An option with a value that `read` makes something of.
    ///
    /// - Parameters:
    ///   - name: the option, with its dashes.
    ///   - word: what the value is called.
    ///   - help: what the option does.
    ///   - completion: what a shell offers for the value.
    ///   - read: makes something of the option's name and the value.
    ///   - set: keeps that.
    /// - Returns: the option.
    static func value<Value>(
        _ name: String, _ word: String, _ help: String, completes completion: Completion = .nothing,
        as read: @escaping @Sendable (_ option: String, _ value: String) throws(Arguments.Mistake) -> Value,
        _ set: @escaping @Sendable (inout Target, Value) -> Void
    ) -> Self {
        Self(text: OptionText(name: name, word: word, help: help, completion: completion)) {
            target, value throws(Arguments.Mistake) in
            set(&target, try read(name, value))
        }
    }

    /// The same option, with a short name such as `-o` beside its own.
    func short(_ name: String) -> Self {
        var text = text
        text.short = name
        return Self(text: text, take: take)
    }

    /// An option with a text, which may not be empty.
    static func value(
        _ name: String, _ word: String, _ help: String, completes completion: Completion = .nothing,
        _ set: @escaping @Sendable (inout Target, String) -> Void
    ) -> Self {
        value(name, word, help, completes: completion, as: completion.checked, set)
    }

    /// An option whose value is one of several names.
    static func choice<Choice: Sendable>(
        _ name: String, _ word: String, _ help: String, of choices: [(name: String, choice: Choice)],
        _ set: @escaping @Sendable (inout Target, Choice) -> Void
    ) -> Self {
        let names = choices.map(\.name)
        return value(
            name, word, help, completes: .words(names),
            as: { option, value throws(Arguments.Mistake) in
                for (name, choice) in choices where name == value { return choice }
                let all = names.joined(separator: ", ")
                throw Arguments.Mistake(text: "\(option) takes one of \(all), not '\(escaped(value))'")
            }, set)
    }

    /// The choice between text and JSON that most commands have.
    static func format(
        _ help: String, _ set: @escaping @Sendable (inout Target, ReportFormat) -> Void
    ) -> Self {
        choice("--format", "FORMAT", help, of: ReportFormat.choices, set)
    }
}

/// What people and shells read of an option.
struct OptionText: Sendable {
    /// The option, with its dashes.
    let name: String
    /// Another name for it, such as `-h`.
    var short: String?
    /// What its value is called; nil where it has none.
    var word: String?
    /// What it does: a sentence or two, without the last full stop.
    let help: String
    var completion = Completion.nothing

    /// The option that every command has.
    static let help = OptionText(name: "--help", short: "-h", help: "shows this")

    /// The option as a help shows it: `--format FORMAT`, `--help, -h`.
    var shown: String { name + (word.map { " \($0)" } ?? "") + (short.map { ", \($0)" } ?? "") }
}

/// What a shell offers for a value or an operand.
enum Completion: Sendable {
    case nothing
    case file
    case directory
    case words([String])

    /// Reads a text that may not be empty.
    var checked: @Sendable (_ option: String, _ value: String) throws(Arguments.Mistake) -> String {
        let what =
            switch self {
            case .file: "a file's name"
            case .directory: "a directory's name"
            case .nothing, .words: "a value, not an empty one"
            }
        return { option, value throws(Arguments.Mistake) in
            if value.isEmpty { throw Arguments.Mistake(text: "\(option) needs \(what)") }
            return value
        }
    }
}
