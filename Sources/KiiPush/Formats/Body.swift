/// The type of a Direct Push by its body: a sender's data, a command, or a QuickBlox push.
enum Body: Equatable {
    case data
    /// A Thing-IF command, strictly read.
    case command
    /// A QuickBlox push, with the keys that identify it.
    case quickBlox([String])

    /// Reads the body of a payload that is a Direct Push by its keys.
    ///
    /// - Parameters:
    ///   - text: the payload.
    ///   - dialect: its format.
    ///   - mayBeQuickBlox: whether it has no evidence for Kii; a Kii push may have a QuickBlox key as data.
    init(_ text: Span<UInt8>, _ dialect: Dialect, mayBeQuickBlox: Bool) {
        var hasID = false
        var hasActions = false
        var marks: [String] = []
        var members = ObjectMembers(text)
        while let (key, value) = members.next(text) {
            switch value.kind {
            case .array:
                if key.matches(ThingCommand.Keys.actions.utf8.span, in: text) { hasActions = true }
            case .string, .number:
                if key.matches(ThingCommand.Keys.id.utf8.span, in: text) { hasID = true }
                if mayBeQuickBlox, let mark = QuickBloxPush.mark(text, key, value) { marks.append(mark) }
            default: break
            }
        }
        // A QuickBlox push may contain any JSON of a sender, so it is never a command.
        let mayBeCommand = dialect.hasKiiKeys && marks.isEmpty
        if mayBeCommand, hasID, hasActions, ThingCommand({ Self.member($0, text) }) != nil {
            self = .command
        } else {
            self = marks.isEmpty ? .data : .quickBlox(marks)
        }
    }

    /// The value of a root member, whether or not it is data.
    static func member(_ name: String, _ text: Span<UInt8>) -> DataValue? {
        var members = ObjectMembers(text)
        while let (key, value) = members.next(text) {
            if key.matches(name.utf8.span, in: text) { return DataValue(text, value) }
        }
        return nil
    }

    /// The keys that are evidence for a Direct Push.
    var evidence: [String] {
        switch self {
        case .data: []
        case .command: [ThingCommand.Keys.id, ThingCommand.Keys.actions]
        case .quickBlox(let marks): marks
        }
    }
}
