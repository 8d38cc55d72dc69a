#if canImport(Musl)
import Musl
#else
import Glibc
#endif
import KiiPush
import KiiPushSystem
import KiiPushMQTT

/// The identity of an MQTT session, kept in the state directory so that the broker recognises the device.
struct SessionFiles {
    let directory: String

    /// The client id of this directory, generated at the first call; 23 characters, the most in MQTT 3.1.
    ///
    /// It is regenerated only if there is no file: with another id the broker would start another session, and never
    /// deliver the messages of the first one.
    ///
    /// - Throws: if it can be neither read nor stored.
    func clientID() throws -> String {
        let path = "\(directory)/client-id"
        if let kept = try read(path) {
            guard !kept.isEmpty, kept.utf8.count <= 64 else {
                throw StateError(
                    path: path,
                    what: "does not contain a client id; remove the file to create a new one, for a new session")
            }
            return kept
        }
        var random = SystemRandomNumberGenerator()
        let number = String(random.next() as UInt64 >> 4, radix: 16)
        let made = "kiipush-" + String(repeating: "0", count: 15 - number.count) + number
        try write(made, to: path)
        return made
    }

    /// The file of the topic's retained message, which the transport itself reads and writes.
    var retainedFile: String { "\(directory)/mqtt-retained" }

    /// Whether a session with these settings existed before.
    ///
    /// - Throws: if that cannot be read.
    func hadSession(_ settings: MQTTSettings) throws -> Bool {
        try read("\(directory)/mqtt-session") == mark(settings)
    }

    /// Records that a session with these settings exists.
    ///
    /// - Throws: if it cannot be stored.
    func noteSession(_ settings: MQTTSettings) throws { try write(mark(settings), to: "\(directory)/mqtt-session") }

    private func mark(_ settings: MQTTSettings) -> String {
        "\(settings.host):\(settings.port) \(settings.clientID) \(settings.topic)"
    }

    /// The first line of a file; nil if there is no file.
    private func read(_ path: String) throws -> String? {
        let bytes: [UInt8]
        do throws(ReadError) { bytes = try ByteReader(regularFile: path).readAll(limit: Self.limit) } catch {
            if case .unreadable(_, let number) = error, number.rawValue == ENOENT { return nil }
            throw error
        }
        let line = bytes.prefix { $0 != UInt8(ascii: "\n") }
        return String(decoding: line, as: UTF8.self)
    }

    /// The size limit of a file; a topic may have 64 KiB.
    private static let limit = 128 << 10

    private func write(_ text: String, to path: String) throws {
        do throws(ErrorNumber) { try replaceFile(path, with: text + "\n") } catch {
            throw StateError(path: path, what: "cannot be written: \(error)")
        }
    }
}
