import CLibrary
import KiiPush
package import KiiPushSystem

/// Why a ``SocketTransport`` cannot listen.
package enum SocketError: Error, Sendable, Hashable {
    /// The path is empty, contains NUL, or exceeds 107 bytes, the limit of a socket's path.
    case badPath(String)
    /// Somebody else could replace the socket: its directory belongs to neither this user nor root, which root may use
    /// nevertheless, or others may write to it.
    case unsafeDirectory(String)
    /// The path exists, but is not a socket, or belongs to somebody else.
    case occupied(String)
    /// Another program listens there.
    case inUse(String)
    /// Nobody answers at the socket, or the answer was cut off.
    case nobodyAnswers(path: String, ErrorNumber)
    /// A system call failed; the path, and the error.
    case failed(path: String, ErrorNumber)
}

extension ErrorNumber {
    /// Whether this user may not do what another one may.
    var isRefusal: Bool { [EACCES, EPERM].contains(rawValue) }

    /// What to do about it, behind a report, if another user may do it.
    var advice: String { isRefusal ? "; run this as the owner of the directory, or as root" : "" }
}

extension SocketError: CustomStringConvertible {
    /// One line for people: what is wrong, and how to fix it.
    package var description: String {
        switch self {
        case .badPath(let path) where path.utf8.count > 107:
            "\(EscapedText(path)): a socket's path has at most 107 bytes, and this one \(path.utf8.count); use a shorter "
                + "path"
        case .badPath(let path):
            "'\(EscapedText(path))' is not a socket path: expected 1 to 107 bytes, none of them NUL"
        case .unsafeDirectory(let path):
            "\(EscapedText(path)): others can write to the socket's directory; use one owned by this user or root, "
                + "with mode 0755 at most"
        case .occupied(let path):
            "\(EscapedText(path)): exists, but is not a socket of this user; remove it or use another path"
        case .inUse(let path): "\(EscapedText(path)): another program is listening there; stop it or use another path"
        case .nobodyAnswers(let path, let number) where number.isRefusal:
            "\(EscapedText(path)): \(number); run this as the user of the agent, or as root"
        case .nobodyAnswers(let path, let number) where number.rawValue == ENOENT:
            "\(EscapedText(path)) is missing; the agent's log says why"
        case .nobodyAnswers(let path, let number): "\(EscapedText(path)): no server answers: \(number)"
        case .failed(let path, let number): "\(EscapedText(path)): cannot listen: \(number)"
        }
    }
}
