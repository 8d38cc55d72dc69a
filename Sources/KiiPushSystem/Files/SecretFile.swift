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
    ) throws(SecretFileError) {
        let place = Self.place(of: path, credentials)
        location = place.path
        guard !place.path.utf8.contains(0) else { throw .unreadable(path, ErrorNumber(rawValue: EINVAL)) }
        // Does not wait for a pipe's other end.
        let flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK
        let descriptor = retrying { unsafe open(place.path, flags) }
        guard descriptor >= 0 else { throw errno == ELOOP ? .notAFile(path) : .unreadable(path, .current) }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw .unreadable(path, .current) }
        guard status.st_mode & S_IFMT == S_IFREG else { throw .notAFile(path) }
        exposure = Self.exposure(path, status, isCredential: place.isCredential)
        do throws(ReadError) {
            bytes = try ByteReader(descriptor: descriptor, name: path).readAll(limit: limit)
        } catch {
            switch error {
            case .notAFile: throw .notAFile(path)
            case .unreadable(_, let number): throw .unreadable(path, number)
            case .tooLarge(_, let limit): throw .tooLarge(path, limit: limit)
            }
        }
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

/// Why a secret was not read, or is not secret.
package enum SecretFileError: Error, Sendable, Hashable, CustomStringConvertible {
    case unreadable(String, ErrorNumber)
    case notAFile(String)
    case tooLarge(String, limit: Int)
    case foreignOwner(String)
    case openToOthers(String, mode: UInt32)

    /// One line for people.
    package var description: String {
        switch self {
        case .unreadable(let path, let number): "\(EscapedText(path)): cannot be read: \(number)"
        case .notAFile(let path): "\(EscapedText(path)): is not a regular file; symbolic links are not followed"
        case .tooLarge(let path, let limit): "\(EscapedText(path)): larger than \(limit) bytes, the most for a secret"
        case .foreignOwner(let path):
            "\(EscapedText(path)): contains a secret but belongs to another user; change its owner"
        case .openToOthers(let path, let mode):
            "\(EscapedText(path)): contains a secret that others can read (mode 0\(String(mode, radix: 8))); run chmod "
                + "600"
        }
    }
}
