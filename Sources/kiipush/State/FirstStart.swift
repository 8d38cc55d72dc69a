import Glibc
import KiiPushLinux

/// The directories that a first start has to make, and takes away again when it fails: a wrong option is not to leave a
/// state directory behind.
struct FirstStart: Sendable {
    private let directory: String
    /// Those that are missing, the innermost first.
    private let missing: [String]

    /// Looks at what is missing of a state directory; nil when it is there.
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

    /// What an agent writes into a state directory by itself, before anything has come.
    private static let ownFiles: Set<String> = [
        "agent.lock", "client-id", "mqtt-session", "control.sock", "kiipush.db", "kiipush.db-wal", "kiipush.db-shm",
        "kiipush.db.lock", "kiipush.db.made",
    ]

    /// Takes away what was made; all of it stays where somebody else has put something there meanwhile.
    func undo() {
        guard let names = StateDirectory.names(in: directory), Self.ownFiles.isSuperset(of: names) else { return }
        // The lock last: until then no other agent begins here.
        for name in names.sorted(by: { $1 == "agent.lock" && $0 != $1 }) { _ = unsafe unlink("\(directory)/\(name)") }
        for path in missing where unsafe rmdir(path) != 0 { return }
    }
}
