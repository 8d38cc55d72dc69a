#if MQTT
import KiiPush
import KiiPushSystem

/// The files of a connection: its certificates, its key and its password.
struct LinkFiles: Sendable {
    /// The contents that a connection uses.
    struct Contents: Sendable {
        var password: String?
        /// The path of the key.
        var keyFile: String?
    }

    private let settings: MQTTSettings

    init(_ settings: MQTTSettings) { self.settings = settings }

    /// Identifies the state of the files; empty if there are none.
    var stamps: [FileStamp] {
        var paths = [settings.caFile, settings.certificateFile].compactMap(\.self)
        if let keyFile = settings.keyFile { paths.append(SecretFile.location(of: keyFile)) }
        if case .file(let path)? = settings.password { paths.append(SecretFile.location(of: path)) }
        return paths.map { FileStamp($0) }
    }

    /// Reads their current contents.
    ///
    /// - Throws: ``MQTTError/settings(_:)`` that names the invalid file, since libmosquitto would only report an
    ///   invalid argument.
    func read() throws(MQTTError) -> Contents {
        for path in [settings.caFile, settings.certificateFile].compactMap(\.self) { try check(path) }
        var contents = Contents()
        contents.password = try password()
        contents.keyFile = try settings.keyFile.map { path throws(MQTTError) in
            try secret(path, limit: 65_536).location
        }
        return contents
    }

    private func check(_ path: String) throws(MQTTError) {
        do throws(ReadError) { _ = try ByteReader(regularFile: path).readAll(limit: 1) } catch {
            if case .tooLarge = error { return }
            throw .settings(error.description)
        }
    }

    private func secret(_ path: String, limit: Int) throws(MQTTError) -> SecretFile {
        let file: SecretFile
        do throws(SecretFileError) { file = try SecretFile(path, limit: limit) } catch {
            throw .settings(error.description)
        }
        if let exposure = file.exposure { throw .settings(exposure.description) }
        return file
    }

    private func password() throws(MQTTError) -> String? {
        switch settings.password {
        case nil: return nil
        case .text(let text): return text
        case .file(let path):
            var bytes = try secret(path, limit: 4096).bytes[...]
            if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
            if bytes.last == UInt8(ascii: "\r") { bytes.removeLast() }
            guard let text = String(validating: bytes, as: UTF8.self) else {
                throw .settings("\(EscapedText(path)): expected a password in UTF-8")
            }
            if let wrong = MQTTSettings.wrong(password: text) { throw .settings("\(EscapedText(path)): \(wrong)") }
            return text
        }
    }
}
#endif
