public import KiiPush

/// All problems of a rules file.
///
/// Prints like a compiler's errors, one a line: `rules.json:3:15: unknown key 'buckt'; did you mean 'bucket'?`. It
/// quotes names and texts of the rules, shortened and with control characters escaped, but nothing of a test's payload.
public struct RulesError: Error, Sendable, Hashable {
    /// One problem.
    public struct Problem: Sendable, Hashable, CustomStringConvertible {
        /// The file name that the caller gave.
        public let file: String
        /// Where in the file.
        public let position: SourcePosition
        /// What is wrong there, and what was expected.
        public let what: String

        /// Makes a problem, for programs with further checks.
        public init(file: String, position: SourcePosition, what: String) {
            self.file = file
            self.position = position
            self.what = what
        }

        /// `file:line:column: what`.
        public var description: String { "\(file):\(position): \(what)" }
    }

    /// The most problems that are kept; the others are only counted.
    package static let mostProblems = 100

    /// The problems in order of position, at least one and at most 100.
    public let problems: [Problem]

    /// The number of problems that were not kept.
    public let omitted: Int

    init(_ problems: [Problem], omitted: Int = 0) {
        self.problems = problems.sorted { $0.position < $1.position }
        self.omitted = omitted
    }

    init(_ file: String, _ position: SourcePosition, _ what: String) {
        self.init([Problem(file: file, position: position, what: what)])
    }
}

extension RulesError {
    /// Problems as they are found; further ones than are kept are only counted.
    struct Collected {
        private var problems: [Problem] = []
        private var omitted = 0

        mutating func add(_ problem: @autoclosure () -> Problem) {
            if problems.count < mostProblems { problems.append(problem()) } else { omitted += 1 }
        }

        /// All of them, as one error; nil if there are none.
        var error: RulesError? { problems.isEmpty ? nil : RulesError(problems, omitted: omitted) }
    }
}

extension RulesError: CustomStringConvertible {
    /// The problems, one a line, and the number of further ones.
    public var description: String {
        var lines = problems.map(\.description)
        if omitted > 0, let last = problems.last {
            lines.append("\(last.file):\(last.position): and \(counted(omitted, "more problem"))")
        }
        return lines.joined(separator: "\n")
    }
}
