import KiiPushAgent
import KiiPushSystem

/// A kind of file that a command writes: it replaces an earlier file of its kind, but no other.
struct OutputKind {
    let name: String
    /// How each file of this kind begins.
    let start: String

    /// Refuses a file of another kind, such as one that the command reads, and the file of one of its standard streams.
    ///
    /// A device, a pipe or another descriptor is written into, which destroys nothing.
    func check(_ option: String, _ output: String?) throws(Arguments.Mistake) {
        if let output, FileStamp(output).isDirectory {
            throw Arguments.Mistake(text: "\(option) '\(escaped(output))' is a directory; name a file")
        }
        guard let output, output != "-" else { return }
        let stamp = FileStamp(output)
        let isStream = stamp.isRegular && (0...2).contains { stamp.isSameFile(as: FileStamp("/dev/fd/\($0)")) }
        let path = try? fileToReplace(output)
        guard isStream || path.map({ isForeignFile($0, start) }) == true else { return }
        let what = isStream ? "a standard stream of this command" : "no \(name)"
        throw Arguments.Mistake(
            text: "\(option) would replace '\(escaped(output))', which is \(what); name another file")
    }
}

extension Arguments {
    /// Refuses a command line that names standard input more than once: only the first could read it.
    static func checkStandardInput(_ files: [String?]) throws(Mistake) {
        guard files.count(where: { $0 == "-" }) <= 1 else {
            throw Mistake(text: "standard input can be only one of the files")
        }
    }
}
