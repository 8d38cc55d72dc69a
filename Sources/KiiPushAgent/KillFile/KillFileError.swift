package import KiiPushRules
package import KiiPushSystem

/// Why a kill file was not read or not written.
package enum KillFileError: Error, Sendable, Hashable {
    /// It cannot be opened or read, or has more than ``KillFile/largestSize`` bytes.
    case unreadable(ReadError)
    /// The path is not a regular file, but a directory or a pipe, for example.
    case notAFile(path: String)
    /// It is not a kill file, so none of its kills are known.
    case malformed(RulesError.Problem)
    /// It cannot be written; its old contents are unchanged.
    case unwritable(path: String, ErrorNumber)
    /// Another program kept the lock too long; nothing has changed.
    case locked(path: String, limit: Duration)
    /// One more kill would exceed ``KillFile/largestSize`` bytes; nothing has changed.
    case full(path: String)
}

extension KillFileError: CustomStringConvertible {
    /// How to fix a file that blocks the kill switch.
    private static let wayOut =
        "remove it or repair it; 'kiipush kill --reset' renames it to \(KillFile.name).broken and starts with no kills"

    /// One line for people.
    package var description: String {
        switch self {
        case .unreadable(.tooLarge(let path, let limit)):
            "\(EscapedText(path)): larger than \(limit) bytes, the most that a kill file may have; \(Self.wayOut)"
        case .unreadable(let error): "\(error)"
        case .notAFile(let path):
            "\(EscapedText(path)): cannot be read: not a regular file; \(Self.wayOut)"
        case .malformed(let problem): "\(problem); \(Self.wayOut)"
        case .unwritable(let path, let number): "\(EscapedText(path)): cannot be written: \(number)"
        case .locked(let path, let limit):
            "\(EscapedText(path)): another program has kept it locked for \(limit); nothing was changed"
        case .full(let path):
            "\(EscapedText(path)): it would have more than \(KillFile.largestSize) bytes; revive something first"
        }
    }
}
