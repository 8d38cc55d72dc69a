import KiiPush

/// What became of new rules.
@nonexhaustive
public enum RulesUpdate: Sendable {
    /// They are in force.
    case loaded(Loaded)
    /// They are not, and nothing has changed; why, with places.
    case refused([RulesError.Problem])
    /// Newer ones were loaded while these were tested, so they are not wanted any more.
    case overtaken

    /// Rules that are in force now.
    public struct Loaded: Sendable {
        /// The rules.
        public let rules: RoutingRules
        /// The number that traces of messages under them have.
        public let generation: Int
        /// The settings in which the file differs from what the receiver was made with, and which it keeps until it is
        /// made anew: of `app`, `serving` and `dedupe`.
        ///
        /// Of a receiver that was not made of rules, what the file states and what is known to differ: of `app`, `me`,
        /// `loop` and `loop.writesAs`. Its `serving` and `dedupe` are the program's own, and cannot be compared.
        public let needRestart: [String]
    }
}

extension RulesUpdate: CustomStringConvertible {
    /// What became of the file, for a log: the generation, or every problem on a line.
    public var description: String {
        switch self {
        case .loaded(let loaded):
            let restart =
                loaded.needRestart.isEmpty ? "" : "; restart for \(loaded.needRestart.joined(separator: ", "))"
            let rules = counted(loaded.rules.rules.count, "rule")
            return "\(loaded.rules.file): \(rules), generation \(loaded.generation)\(restart)"
        case .refused(let problems): return problems.map(\.description).joined(separator: "\n")
        case .overtaken: return "overtaken by a newer file"
        }
    }
}
