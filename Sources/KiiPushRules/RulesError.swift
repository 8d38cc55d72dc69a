import KiiPush

/// Everything that is wrong with a rules file.
///
/// Prints as a compiler's errors do, one a line: `rules.json:3:15: unknown key 'buckt'; did you mean 'bucket'?`. It
/// quotes names and texts of the rules, cut and with control characters escaped, but nothing of a payload in a test.
public struct RulesError: Error, Sendable, Hashable {
    /// One thing that is wrong.
    public struct Problem: Sendable, Hashable, CustomStringConvertible {
        /// The file, as the caller named it.
        public let file: String
        /// Where in the file.
        public let position: SourcePosition
        /// What is wrong there, and what was expected.
        public let what: String

        /// Makes a problem, for whoever checks rules for more than their form.
        public init(file: String, position: SourcePosition, what: String) {
            self.file = file
            self.position = position
            self.what = what
        }

        /// `file:line:column: what`.
        public var description: String { "\(file):\(position): \(what)" }
    }

    /// How many problems are kept; the others are only counted.
    public static let mostProblems = 100

    /// The problems by their places, at least one and at most ``mostProblems``.
    public let problems: [Problem]

    /// How many more were found.
    public let omitted: Int

    init(_ problems: [Problem], omitted: Int = 0) {
        self.problems = problems.sorted { $0.position < $1.position }
        self.omitted = omitted
    }

    init(_ file: String, _ position: SourcePosition, _ what: String) {
        self.init([Problem(file: file, position: position, what: what)])
    }
}

extension RulesError: CustomStringConvertible {
    /// The problems, one a line, and how many more there are.
    public var description: String {
        var lines = problems.map(\.description)
        if omitted > 0, let last = problems.last {
            lines.append("\(last.file):\(last.position): and \(counted(omitted, "more problem"))")
        }
        return lines.joined(separator: "\n")
    }
}
