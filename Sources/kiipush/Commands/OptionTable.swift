/// A command's options, as its parser goes by them.
struct OptionTable<Target>: Sendable {
    /// Options under a heading of the help, or under none.
    struct Group: Sendable {
        var heading: String?
        let options: [CommandOption<Target>]
    }

    let groups: [Group]

    init(_ options: [CommandOption<Target>]) { groups = [Group(options: options)] }

    init(groups: [Group]) { self.groups = groups }

    private var options: [CommandOption<Target>] { groups.flatMap(\.options) }

    /// The options' names, with their dashes, in order.
    var names: [String] { options.map(\.text.name) }

    /// What people read of the options, with the one that every command has.
    var texts: [OptionTexts] {
        var texts = groups.map { OptionTexts(heading: $0.heading, options: $0.options.map(\.text)) }
        if texts.isEmpty { texts = [OptionTexts(options: [])] }
        texts[texts.count - 1].options.append(.help)
        return texts
    }

    /// Reads a command line; each option does to `target` what its row says.
    ///
    /// - Returns: what is no option, in order; nil when help is wanted.
    /// - Throws: what is wrong with it.
    func read(_ arguments: [String], into target: inout Target) throws(Arguments.Mistake) -> [String]? {
        var arguments = Arguments(arguments)
        while let name = try arguments.nextOption() {
            if name == OptionText.help.name || name == OptionText.help.short { return nil }
            guard let option = options.first(where: { $0.text.name == name || $0.text.short == name }) else {
                throw Arguments.Mistake(unknown: name, known: names)
            }
            try option.take(&target, option.text.word == nil ? "" : arguments.value(of: name))
        }
        return arguments.operands
    }
}

/// What people read of options that stand together.
struct OptionTexts: Sendable {
    var heading: String?
    var options: [OptionText]
}
