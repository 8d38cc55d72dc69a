/// A command's options, for its parser.
package struct OptionTable<Target>: Sendable {
    /// Options under a heading of the help, or without one.
    package typealias Group = (heading: String?, options: [CommandOption<Target>])

    private let groups: [Group]

    package init(_ options: [CommandOption<Target>]) { groups = [(nil, options)] }

    package init(groups: [Group]) { self.groups = groups }

    private var options: [CommandOption<Target>] { groups.flatMap(\.options) }

    package var names: [String] { options.map(\.text.name) }

    /// The descriptions of the options, including the one that every command has.
    package var texts: [OptionTexts] {
        var texts = groups.map { OptionTexts(heading: $0.heading, options: $0.options.map(\.text)) }
        texts[texts.count - 1].options.append(.help)
        return texts
    }

    /// Parses a command line like `getopt_long`: `--name value`, `--name=value`, `-n value`, `-nvalue`, and `--` ends
    /// the options.
    ///
    /// It applies each option to `target`; returns the operands, or nil if help is requested.
    package func read(_ arguments: [String], into target: inout Target) throws(Arguments.Mistake) -> [String]? {
        var (left, operands) = (arguments[...], [String]())
        while let argument = left.popFirst() {
            if argument == "--" { return operands + left }
            guard argument.hasPrefix("-"), argument != "-" else {
                operands.append(argument)
                continue
            }
            var (name, value) = (argument, String?.none)
            if let sign = argument.firstIndex(of: "="), argument.hasPrefix("--") {
                (name, value) = (String(argument[..<sign]), String(argument[argument.index(after: sign)...]))
            } else if options.contains(where: { $0.text.word != nil && $0.text.short == String(argument.prefix(2)) }),
                argument.count > 2
            {
                (name, value) = (String(argument.prefix(2)), String(argument.dropFirst(2)))
            }
            if name == OptionText.help.name || name == OptionText.help.short { return nil }
            guard let option = options.first(where: { $0.text.name == name || $0.text.short == name }) else {
                throw Arguments.Mistake(unknown: name, known: names)
            }
            if option.text.word == nil {
                if value != nil { throw Arguments.Mistake(text: "\(name) takes no value") }
            } else {
                value = value ?? left.popFirst()
                if value == nil { throw Arguments.Mistake(text: "\(name) needs a value") }
            }
            try option.take(&target, value ?? "")
        }
        return operands
    }
}

package struct OptionTexts: Sendable {
    package var heading: String?
    package var options: [OptionText]

    package init(heading: String? = nil, options: [OptionText]) { (self.heading, self.options) = (heading, options) }
}
