import KiiPushAgent
import KiiPushSystem

extension ByteReader {
    /// Opens what an operand or an option names: a file, or standard input for `-`.
    static func named(_ operand: String) throws(ReadError) -> ByteReader {
        operand == "-" ? .standardInput() : try ByteReader(path: operand)
    }
}

extension Console {
    /// Reports why a file cannot be read.
    ///
    /// Contents in the place of its name are private, and not repeated: `advice` says where they go.
    func complain(_ error: ReadError, of operand: String, contents advice: String) {
        self.error(operand.utf8.contains(UInt8(ascii: "{")) ? advice : "\(error)")
    }
}
