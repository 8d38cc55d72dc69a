import CLibrary
import KiiPushSystem

/// The directories that a first start creates, and removes if it fails, as with a wrong option.
struct FirstStart: Sendable {
    private let directory: String
    /// The missing directories, innermost first.
    private let missing: [String]

    /// Finds the missing parts of a state directory; nil if it exists.
    init?(_ directory: String) {
        var (path, missing) = (directory, [String]())
        while !path.isEmpty, !StateDirectory.isThere(path) {
            missing.append(path)
            let above = directoryName(path)
            if above == path { break }
            path = above
        }
        if missing.isEmpty { return nil }
        (self.directory, self.missing) = (directory, missing)
    }

    /// Removes what was created; keeps everything if somebody else has added a file, such as a kill, meanwhile.
    func undo() {
        guard let names = entries(ofDirectory: directory),
            names.allSatisfy({ AgentState.owns($0) && !$0.hasPrefix(KillFile.name) })
        else { return }
        // The lock last: until then no other agent starts here.
        for name in names.sorted(by: { $1 == "agent.lock" && $0 != $1 }) { _ = unsafe unlink("\(directory)/\(name)") }
        // With a slash at its end, the state directory has two names.
        for path in missing where unsafe rmdir(path) != 0 && errno != ENOENT { return }
    }
}
