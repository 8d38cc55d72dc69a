import Glibc
import KiiPush
import KiiPushLinux
import KiiPushMQTT

/// What an MQTT session is known by, kept in the state directory so that the broker knows the device again.
struct SessionFiles {
    let directory: String

    /// The client id that was made for this directory, at the first time now.
    ///
    /// - Throws: when it can be neither read nor kept.
    func clientID() throws -> String {
        let path = "\(directory)/client-id"
        if let kept = read(path), !kept.isEmpty, kept.utf8.count <= 64 { return kept }
        var random = SystemRandomNumberGenerator()
        let number = String(random.next() as UInt64, radix: 16)
        let made = "kiipush-" + String(repeating: "0", count: 16 - number.count) + number
        try write(made, to: path)
        return made
    }

    /// Whether a session with these settings was there before.
    func hadSession(_ settings: MQTTSettings) -> Bool { read("\(directory)/mqtt-session") == mark(settings) }

    /// Takes down that there is a session with these settings.
    ///
    /// - Throws: when it cannot be kept.
    func noteSession(_ settings: MQTTSettings) throws { try write(mark(settings), to: "\(directory)/mqtt-session") }

    private func mark(_ settings: MQTTSettings) -> String {
        "\(settings.host):\(settings.port) \(settings.clientID) \(settings.topic)"
    }

    private func read(_ path: String) -> String? {
        guard let bytes = try? ByteReader(path: path).readAll(limit: 4096) else { return nil }
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").first.map(String.init)
    }

    private func write(_ text: String, to path: String) throws {
        do throws(ErrorNumber) { try replaceFile(path, with: text + "\n") } catch {
            throw StateError(path: path, what: "cannot be written: \(error)")
        }
    }
}
