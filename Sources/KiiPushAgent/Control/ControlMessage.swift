import KiiPush
import KiiPushSystem

/// The protocol of a control socket: a command line in, lines and an exit code out.
///
/// A command consists of the number of arguments and each one's length, on lines of their own, followed by the bytes:
/// arguments may contain anything. An answer consists of lines that begin with `o` for output or `e` for an error, and
/// finally `x` and the code.
enum ControlMessage {
    static let longestCommand = 65_536
    static let mostArguments = 2048

    static func command(_ arguments: [String]) -> [UInt8] {
        arguments.reduce(into: Array("\(arguments.count)\n".utf8)) { bytes, argument in
            bytes += Array("\(argument.utf8.count)\n".utf8) + argument.utf8
        }
    }

    /// What is too long in a command that no agent would take, and what to do instead; nil if an agent takes it.
    static func excess(_ arguments: [String]) -> String? {
        let bytes = command(arguments).count
        guard arguments.count > mostArguments || bytes > longestCommand else { return nil }
        return "a running agent takes at most \(mostArguments) words and \(longestCommand) bytes in one command, and "
            + "these are \(counted(arguments.count, "word")) of \(counted(bytes, "byte")); split it into several"
    }

    enum Reading: Equatable {
        case whole([String])
        /// More is to come.
        case part
        case wrong
    }

    static func read(_ bytes: [UInt8]) -> Reading {
        var left = bytes[...]
        guard bytes.count <= longestCommand else { return .wrong }
        guard let count = takeNumber(&left, most: mostArguments) else { return isPart(left) ? .part : .wrong }
        var arguments: [String] = []
        for _ in 0..<count {
            guard let length = takeNumber(&left, most: longestCommand) else { return isPart(left) ? .part : .wrong }
            guard left.count >= length else { return .part }
            guard let text = String(validating: left.prefix(length), as: UTF8.self) else { return .wrong }
            arguments.append(text)
            left.removeFirst(length)
        }
        return left.isEmpty ? .whole(arguments) : .wrong
    }

    /// Takes a number and the following line end; takes nothing if there is no such number.
    private static func takeNumber(_ bytes: inout ArraySlice<UInt8>, most: Int) -> Int? {
        guard let end = bytes.prefix(8).firstIndex(of: UInt8(ascii: "\n")), end > bytes.startIndex else { return nil }
        let digits = bytes[bytes.startIndex..<end]
        guard digits.allSatisfy(\.isDigit), let number = Int(String(decoding: digits, as: UTF8.self)), number <= most
        else { return nil }
        bytes = bytes[(end + 1)...]
        return number
    }

    /// Whether the bytes may be the beginning of a number.
    private static func isPart(_ bytes: ArraySlice<UInt8>) -> Bool { bytes.count < 8 && bytes.allSatisfy(\.isDigit) }

    /// A received line, safe to print: an agent escapes control characters itself, but whoever has its user's rights
    /// could send some to the terminal of root.
    static func printable(_ line: ArraySlice<UInt8>) -> String {
        let text = String(decoding: line, as: UTF8.self)
        return text.unicodeScalars.contains { $0.properties.generalCategory == .control }
            ? EscapedText(text).description : text
    }

    static func lines(_ mark: Unicode.Scalar, _ text: String) -> [UInt8] {
        // By bytes: for a String, a CRLF is one character that is not the end of a line.
        Array(text.utf8).split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            .flatMap { Array(mark.utf8) + $0 + [UInt8(ascii: "\n")] }
    }
}
