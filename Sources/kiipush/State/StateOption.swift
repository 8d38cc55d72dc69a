import KiiPushLinux

/// The option `--state`: which state directory a command works on.
enum StateOption {
    /// Which directory counts without `--state`; the one sentence on that of all helps and manuals.
    static let standardDirectory =
        "Without it, $STATE_DIRECTORY, else $XDG_STATE_HOME/kiipush, else ~/.local/state/kiipush"

    /// Where a directory belongs that was given without the option.
    static let hint = "the directory goes behind --state"

    /// The state directory that was named, or else the standard one.
    ///
    /// - Parameter named: what the option says; empty where it was not given.
    /// - Returns: the directory, which need not exist.
    /// - Throws: when none was named and the standard one is unknown.
    static func directory(_ named: String) throws(Arguments.Mistake) -> String {
        if !named.isEmpty { return named }
        guard let directory = StateDirectory.standard else {
            throw Arguments.Mistake(text: "no state directory is known: name it with --state, or set HOME")
        }
        return directory
    }
}

extension CommandOption {
    /// The state directory, in the same words everywhere.
    ///
    /// - Parameters:
    ///   - what: what it is to the command.
    ///   - more: a sentence behind that on what counts without the option, where a command differs.
    ///   - set: keeps it.
    /// - Returns: the option.
    static func state(
        _ what: String = "the agent's state directory", more: String = "",
        _ set: @escaping @Sendable (inout Target, String) -> Void
    ) -> Self {
        value("--state", "DIR", "\(what). \(StateOption.standardDirectory)\(more)", completes: .directory, set)
    }
}
