import Glibc

/// A file that holds a secret, such as a password, and who else could read it.
///
/// The path's last part may be no symbolic link. What systemd's `LoadCredential=` hands over lies in
/// `$CREDENTIALS_DIRECTORY`: a name without a slash is looked for there first, and in there the group may read, since
/// that is how the file mode shows the access list that systemd sets.
package struct SecretFile: Sendable {
    package let bytes: [UInt8]

    /// Where it lies.
    package let location: String

    /// Why it is no secret; nil when only its owner can read it.
    package let exposure: SecretFileError?

    /// Reads a file.
    ///
    /// - Parameters:
    ///   - path: its path, or its name in the credentials directory.
    ///   - limit: the most bytes to take.
    ///   - credentials: the credentials directory; nil where there is none.
    /// - Throws: why it was not read; that others could read it too is no reason, see ``exposure``.
    package init(
        _ path: String, limit: Int, credentials: String? = Self.credentialsDirectory
    ) throws(SecretFileError) {
        let place = Self.place(of: path, credentials)
        location = place.path
        guard !place.path.utf8.contains(0) else { throw .unreadable(path, ErrorNumber(rawValue: EINVAL)) }
        // Not to block on a pipe's other end.
        let flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK
        let descriptor = retrying { unsafe open(place.path, flags) }
        guard descriptor >= 0 else { throw errno == ELOOP ? .notAFile(path) : .unreadable(path, .current) }
        defer { close(descriptor) }
        var status = stat()
        // The call fills in `status`.
        guard unsafe fstat(descriptor, &status) == 0 else { throw .unreadable(path, .current) }
        guard status.st_mode & S_IFMT == S_IFREG else { throw .notAFile(path) }
        let shared: mode_t = place.isCredential ? 0o037 : 0o077
        if ![geteuid(), 0].contains(status.st_uid) {
            exposure = .foreignOwner(path)
        } else if status.st_mode & shared != 0 {
            exposure = .openToOthers(path, mode: status.st_mode & 0o777)
        } else {
            exposure = nil
        }
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

    /// Where systemd puts what `LoadCredential=` names.
    package static var credentialsDirectory: String? {
        guard let value = unsafe getenv("CREDENTIALS_DIRECTORY") else { return nil }
        let path = unsafe String(cString: value)
        return path.hasPrefix("/") ? path : nil
    }

    /// Where a secret lies, as the path or the name in the credentials directory says.
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

/// Why a secret was not read, or is none.
package enum SecretFileError: Error, Sendable, Hashable, CustomStringConvertible {
    case unreadable(String, ErrorNumber)
    case notAFile(String)
    case tooLarge(String, limit: Int)
    case foreignOwner(String)
    case openToOthers(String, mode: UInt32)

    /// One line for a person.
    package var description: String {
        switch self {
        case .unreadable(let path, let number): "\(EscapedText(path)): cannot be read: \(number)"
        case .notAFile(let path): "\(EscapedText(path)): is no regular file; a symbolic link is not followed"
        case .tooLarge(let path, let limit): "\(EscapedText(path)): larger than \(limit) bytes, the most for a secret"
        case .foreignOwner(let path): "\(EscapedText(path)): holds a secret, and belongs to another user; take it over"
        case .openToOthers(let path, let mode):
            "\(EscapedText(path)): holds a secret that others can read (mode 0\(String(mode, radix: 8))); chmod 600 it"
        }
    }
}
