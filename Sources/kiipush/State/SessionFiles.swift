import Glibc
import KiiPush
import KiiPushLinux
import KiiPushMQTT

/// What an MQTT session is known by, kept in the state directory so that the broker knows the device again.
struct SessionFiles {
    let directory: String

    /// The client id that was made for this directory, at the first time now; 23 characters, the most of MQTT 3.1.
    ///
    /// Another one is made only where there is no file: with it the broker would begin another session, and what it
    /// keeps for the first one would never come.
    ///
    /// - Throws: when it can be neither read nor kept.
    func clientID() throws -> String {
        let path = "\(directory)/client-id"
        if let kept = try read(path) {
            guard !kept.isEmpty, kept.utf8.count <= 64 else {
                throw StateError(
                    path: path, what: "holds no client id; without the file another one is made, for a new session")
            }
            return kept
        }
        var random = SystemRandomNumberGenerator()
        let number = String(random.next() as UInt64 >> 4, radix: 16)
        let made = "kiipush-" + String(repeating: "0", count: 15 - number.count) + number
        try write(made, to: path)
        return made
    }

    /// Whether a session with these settings was there before.
    ///
    /// - Throws: when that cannot be read.
    func hadSession(_ settings: MQTTSettings) throws -> Bool {
        try read("\(directory)/mqtt-session") == mark(settings)
    }

    /// Takes down that there is a session with these settings.
    ///
    /// - Throws: when it cannot be kept.
    func noteSession(_ settings: MQTTSettings) throws { try write(mark(settings), to: "\(directory)/mqtt-session") }

    private func mark(_ settings: MQTTSettings) -> String {
        "\(settings.host):\(settings.port) \(settings.clientID) \(settings.topic)"
    }

    /// The first line of a file; nil when there is no file.
    private func read(_ path: String) throws -> String? {
        let bytes: [UInt8]
        do throws(ReadError) { bytes = try ByteReader(regularFile: path).readAll(limit: Self.limit) } catch {
            if case .unreadable(_, let number) = error, number.rawValue == ENOENT { return nil }
            throw error
        }
        let line = bytes.prefix { $0 != UInt8(ascii: "\n") }
        return String(decoding: line, as: UTF8.self)
    }

    /// The most bytes of a file; a topic may have 64 KiB.
    private static let limit = 128 << 10

    private func write(_ text: String, to path: String) throws {
        do throws(ErrorNumber) { try replaceFile(path, with: text + "\n") } catch {
            throw StateError(path: path, what: "cannot be written: \(error)")
        }
    }
}
