import CLibrary
import KiiPush
import KiiPushSystem

/// Why users other than root and this process's one can change an agent's rules.
struct RulesExposure: Equatable, CustomStringConvertible {
    /// What they can change: the file behind symbolic links, or a folder of its path.
    let place: String
    private let mode: mode_t
    /// The owner, if that is another user.
    private let owner: uid_t?

    /// Finds the first such place, from the file upwards; nil if there is none, or no file.
    ///
    /// In a folder with the sticky bit, others cannot replace a file. On a file system that is mounted read-only,
    /// nobody can.
    init?(of path: String) {
        var place = resolved(path)
        while true {
            var (status, system) = (stat(), statvfs())
            guard unsafe stat(place, &status) == 0, unsafe statvfs(place, &system) == 0 else { return nil }
            let isForeign = ![geteuid(), 0].contains(status.st_uid)
            let isOpen = status.st_mode & S_IWOTH != 0 && status.st_mode & S_ISVTX == 0
            if isForeign || isOpen, system.f_flag & UInt(ST_RDONLY) == 0 {
                (self.place, mode, owner) = (place, status.st_mode & 0o7777, isForeign ? status.st_uid : nil)
                return
            }
            if place == "/" { return nil }
            place = directoryName(place)
        }
    }

    var description: String {
        let place = EscapedText(place)
        let (who, remedy) =
            owner.map { ("its owner, user \($0),", "chown root") }
            ?? ("every user (mode 0\(String(mode, radix: 8)))", "chmod o-w")
        return "\(place): \(who) can change the rules, which can run programs; run '\(remedy) \(place)'"
    }
}
