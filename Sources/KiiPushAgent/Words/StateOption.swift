import KiiPushSystem

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

extension CommandOption {
    /// The state directory, with the same help text everywhere; `more` is a further sentence about the default.
    package static func state(
        _ what: String = "the agent's state directory", more: String = "",
        _ set: @escaping @Sendable (inout Target, String) -> Void
    ) -> Self {
        value("--state", "DIR", "\(what). \(StateOption.standardDirectory)\(more)", completes: .directory, set)
    }
}
