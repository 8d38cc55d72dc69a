import KiiPushSystem

/// An option of a command: a row in the table behind the parser, the help, the manual and the completions.
///
/// The row contains the option's effect, so every documented option is parsed, and every parsed option is documented.
package struct CommandOption<Target>: Sendable {
    package let text: OptionText
    /// Takes the option's value, or an empty text if it has none.
    let take: @Sendable (inout Target, _ value: String) throws(Arguments.Mistake) -> Void

    package static func flag(
        _ name: String, _ help: String, _ set: @escaping @Sendable (inout Target) -> Void
    ) -> Self { Self(text: OptionText(name: name, help: help)) { target, _ throws(Arguments.Mistake) in set(&target) } }

    /// An option with a value, whose placeholder is `word`; `read` parses it, given the option's name.
    package static func value<Value>(
        _ name: String, _ word: String, _ help: String, completes completion: Completion = .nothing,
        as read: @escaping @Sendable (_ option: String, _ value: String) throws(Arguments.Mistake) -> Value,
        _ set: @escaping @Sendable (inout Target, Value) -> Void
    ) -> Self {
        Self(text: OptionText(name: name, word: word, help: help, completion: completion)) {
            target, value throws(Arguments.Mistake) in
            set(&target, try read(name, value))
        }
    }

    /// The same option, with an additional short name such as `-o`.
    package func short(_ name: String) -> Self {
        var text = text
        text.short = name
        return Self(text: text, take: take)
    }

    /// An option with a text, which may not be empty.
    package static func value(
        _ name: String, _ word: String, _ help: String, completes completion: Completion = .nothing,
        _ set: @escaping @Sendable (inout Target, String) -> Void
    ) -> Self { value(name, word, help, completes: completion, as: completion.checked, set) }

    /// An option whose value is one of several names.
    package static func choice<Choice: Sendable>(
        _ name: String, _ word: String, _ help: String, of choices: [(name: String, choice: Choice)],
        _ set: @escaping @Sendable (inout Target, Choice) -> Void
    ) -> Self {
        let names = choices.map(\.name)
        let read = Arguments.value("one of \(names.joined(separator: ", ")),") { value in
            choices.first { $0.name == value }?.choice
        }
        return value(name, word, help, completes: .words(names), as: read, set)
    }

    /// The choice between text and JSON, which most commands have.
    package static func format(
        _ help: String, _ set: @escaping @Sendable (inout Target, ReportFormat) -> Void
    ) -> Self { choice("--format", "FORMAT", help, of: [("text", .text), ("json", .json)], set) }

    /// The state directory, with the same help text everywhere; `more` is a further sentence about the default.
    package static func state(
        _ what: String = "the agent's state directory", more: String = "",
        _ set: @escaping @Sendable (inout Target, String) -> Void
    ) -> Self {
        value("--state", "DIR", "\(what). \(StateOption.standardDirectory)\(more)", completes: .directory, set)
    }
}

/// An option's description for people and shells.
package struct OptionText: Sendable {
    /// The option, with its dashes.
    package let name: String
    /// Another name for it, such as `-h`.
    package var short: String?
    /// The placeholder of its value; nil if it has none.
    package var word: String?
    /// Its effect: a sentence or two, without the last full stop.
    package let help: String
    package var completion = Completion.nothing

    package init(
        name: String, short: String? = nil, word: String? = nil, help: String, completion: Completion = .nothing
    ) { (self.name, self.short, self.word, self.help, self.completion) = (name, short, word, help, completion) }

    /// The option that every command has.
    package static let help = OptionText(name: "--help", short: "-h", help: "shows this")

    /// The option as the help shows it: `--format FORMAT`, `--help, -h`.
    package var shown: String { name + (word.map { " \($0)" } ?? "") + (short.map { ", \($0)" } ?? "") }
}

/// A shell's completion for a value or an operand.
package enum Completion: Sendable {
    case nothing
    case file
    case directory
    case words([String])

    /// Parses a text that may not be empty.
    package var checked: @Sendable (_ option: String, _ value: String) throws(Arguments.Mistake) -> String {
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

package enum ReportFormat: Sendable {
    case text
    case json
}

/// The option `--state`: the state directory of a command.
package enum StateOption {
    /// The default without `--state`; the only sentence about it in all helps and manuals.
    package static let standardDirectory =
        "Without it, $STATE_DIRECTORY, else $XDG_STATE_HOME/kiipush, else ~/.local/state/kiipush"

    package static let hint = "pass the directory with --state"

    /// The named state directory, or else the standard one, if it is known; it need not exist.
    package static func directory(_ named: String) throws(Arguments.Mistake) -> String {
        if !named.isEmpty { return named }
        guard let directory = StateDirectory.standard else {
            throw Arguments.Mistake(text: "no state directory is known: name it with --state, or set HOME")
        }
        return directory
    }
}
