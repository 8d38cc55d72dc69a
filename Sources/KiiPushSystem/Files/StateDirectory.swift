import CLibrary

/// The directory for the persistent state of one service's programs.
package enum StateDirectory {
    /// The default: `$STATE_DIRECTORY`, as systemd sets it, the first of several; else `$XDG_STATE_HOME/kiipush`; else
    /// `~/.local/state/kiipush`.
    ///
    /// Nil if not even a home is known. A relative path counts as not set.
    package static func standard(_ environment: (String) -> String?) -> String? {
        func path(_ name: String) -> String? { environment(name).flatMap { $0.hasPrefix("/") ? $0 : nil } }
        if let list = path("STATE_DIRECTORY") { return String(list.prefix { $0 != ":" }) }
        if let home = path("XDG_STATE_HOME") { return "\(home)/kiipush" }
        return path("HOME").map { "\($0)/.local/state/kiipush" }
    }

    /// The same, for this process's environment.
    package static var standard: String? { standard(environmentVariable) }

    /// The directory from systemd, in this process's environment; nil if systemd sets none.
    package static var ofService: String? { environmentVariable("STATE_DIRECTORY") == nil ? nil : standard }

    /// Whether there is a directory, or this user may not know.
    package static func isThere(_ path: String) -> Bool {
        let stamp = FileStamp(path)
        return stamp.isDirectory || stamp.error?.rawValue == EACCES
    }

    /// Creates a directory and its missing parents, with this mode; an existing one stays unchanged.
    ///
    /// - Throws: the error of the failed call, such as `ENOTDIR` if there is a file in its place.
    package static func make(_ path: String, mode: UInt32 = 0o700) throws(ErrorNumber) {
        guard !path.isEmpty, !path.utf8.contains(0) else { throw ErrorNumber(rawValue: EINVAL) }
        if unsafe mkdir(path, mode) == 0 { return }
        let error = ErrorNumber.current
        switch error.rawValue {
        case EEXIST:
            guard FileStamp(path).isDirectory else { throw ErrorNumber(rawValue: ENOTDIR) }
        case ENOENT:
            let above = directoryName(path)
            guard above != path else { throw error }
            try make(above, mode: mode)
            guard unsafe mkdir(path, mode) == 0 || errno == EEXIST else { throw .current }
        default: throw error
        }
    }
}
