import KiiPush

/// The result of a rules update.
@nonexhaustive
public enum RulesUpdate: Sendable {
    /// The rules are in force.
    case loaded(Loaded)
    /// The rules are not in force, and nothing has changed; the problems say why and where.
    case refused([RulesError.Problem])
    /// Newer rules were loaded while these were tested, so these were discarded.
    case overtaken

    /// Rules that are in force now.
    public struct Loaded: Sendable {
        /// The rules.
        public let rules: RoutingRules
        /// The generation in traces of messages that these rules route.
        public let generation: Int
        /// The SHA-256 of the file, as `sha256sum` prints it.
        public let digest: String
        /// The settings among `app`, `serving` and `dedupe` that differ from the receiver's, and take effect only with
        /// a new receiver.
        ///
        /// For a receiver that was not made from rules: the settings among `app`, `me`, `loop` and `loop.writesAs` that
        /// the file states and that are known to differ. Its `serving` and `dedupe` belong to the program, and cannot
        /// be compared.
        public let needRestart: [String]
    }
}

extension RulesUpdate: CustomStringConvertible {
    /// The result for a log: the generation, or every problem on a line.
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
