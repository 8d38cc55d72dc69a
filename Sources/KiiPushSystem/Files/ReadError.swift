import CLibrary

/// Why a file or a stream was not read.
@nonexhaustive
public enum ReadError: Error, Sendable, Hashable, CustomStringConvertible {
    /// It cannot be opened or read; `name` is its path, or the given name of the stream.
    case unreadable(name: String, ErrorNumber)
    /// The path is not a regular file, but a directory, a pipe or a device, for example.
    case notAFile(name: String)
    /// It exceeds the reader's limit.
    case tooLarge(name: String, limit: Int)

    /// One line for people: "a.json: cannot be read: No such file or directory".
    public var description: String {
        switch self {
        case .unreadable(let name, _), .notAFile(let name), .tooLarge(let name, _): "\(EscapedText(name)): \(what)"
        }
    }

    /// The line without the name.
    package var what: String {
        switch self {
        case .unreadable(_, let number) where number.rawValue == ELOOP:
            "cannot be read: \(number); name the file itself, and no link to it"
        case .unreadable(_, let number): "cannot be read: \(number)"
        case .notAFile: "cannot be read: not a regular file"
        case .tooLarge(_, let limit): "larger than \(limit) bytes, the most that are read"
        }
    }
}
