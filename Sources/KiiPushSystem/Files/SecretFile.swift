import CLibrary

/// A file with a secret, such as a password, and a check of who else could read it.
///
/// The path's last part must not be a symbolic link. systemd's `LoadCredential=` stores credentials in
/// `$CREDENTIALS_DIRECTORY`: a name without a slash is first searched there, and the group may read those files, since
/// the file mode shows systemd's access list that way.
package struct SecretFile: Sendable {
    package let bytes: [UInt8]

    package let location: String

    /// Why it is not secret; nil if only its owner can read it.
    package let exposure: SecretFileError?

    /// Reads a file of at most `limit` bytes, by its path, or by its name in the credentials directory, if there is
    /// one.
    ///
    /// - Throws: why it was not read; a readable file that others can read too is not an error, see ``exposure``.
    package init(
        _ path: String, limit: Int, credentials: String? = Self.credentialsDirectory
    ) throws(ReadError) {
        let place = Self.place(of: path, credentials)
        location = place.path
        let reader = try ByteReader(regularFile: place.path, followsLinks: false)
        guard let status = reader.status else { throw .unreadable(name: path, .current) }
        exposure = Self.exposure(path, status, isCredential: place.isCredential)
        bytes = try reader.readAll(limit: limit)
    }

    /// Why a file, perhaps behind symbolic links, is not secret; nil if only its owner can read it, or nobody.
    package static func exposure(of path: String) -> SecretFileError? {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return nil }
        return exposure(path, status, isCredential: directoryName(path) == credentialsDirectory)
    }

    private static func exposure(_ path: String, _ status: stat, isCredential: Bool) -> SecretFileError? {
        if ![geteuid(), 0].contains(status.st_uid) { return .foreignOwner(path) }
        let shared: mode_t = isCredential ? 0o037 : 0o077
        return status.st_mode & shared == 0 ? nil : .openToOthers(path, mode: status.st_mode & 0o777)
    }

    package static var credentialsDirectory: String? {
        environmentVariable("CREDENTIALS_DIRECTORY").flatMap { $0.hasPrefix("/") ? $0 : nil }
    }

    /// The path of a secret, which may be a name in the credentials directory.
    package static func location(of path: String, credentials: String? = Self.credentialsDirectory) -> String {
        place(of: path, credentials).path
    }

    private static func place(of path: String, _ credentials: String?) -> (path: String, isCredential: Bool) {
        guard let credentials, !path.isEmpty else { return (path, false) }
        if !path.utf8.contains(UInt8(ascii: "/")) {
            let inside = "\(credentials)/\(path)"
            return unsafe access(inside, F_OK) == 0 ? (inside, true) : (path, false)
        }
        return (path, directoryName(path) == credentials)
    }
}

/// Why a file is not secret.
package enum SecretFileError: Error, Sendable, Hashable, CustomStringConvertible {
    case foreignOwner(String)
    case openToOthers(String, mode: UInt32)

    /// One line for people.
    package var description: String {
        switch self {
        case .foreignOwner(let path):
            "\(EscapedText(path)): contains a secret but belongs to another user; change its owner"
        case .openToOthers(let path, let mode):
            "\(EscapedText(path)): contains a secret that others can read (mode 0\(String(mode, radix: 8))); run chmod "
                + "600"
        }
    }
}
