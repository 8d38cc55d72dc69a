import KiiPushAgent
import KiiPushSystem

extension Arguments {
    /// Refuses a command line that names standard input more than once: only the first could read it.
    static func checkStandardInput(_ files: [String?]) throws(Mistake) {
        guard files.count(where: { $0 == "-" }) <= 1 else {
            throw Mistake(text: "standard input can be only one of the files")
        }
    }

    /// Refuses an output that is the same file as an input, by any name: writing it would destroy what is read.
    static func checkOutput(_ option: String, _ output: String?, inputs: [String?]) throws(Mistake) {
        guard let output, output != "-" else { return }
        let stamp = FileStamp(output)
        for case let input? in inputs where input != "-" && stamp.isSameFile(as: FileStamp(input)) {
            throw Mistake(
                text: "\(option) '\(escaped(output))' would replace '\(escaped(input))', which is read; name another "
                    + "file")
        }
    }
}
