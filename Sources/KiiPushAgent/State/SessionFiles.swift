import CLibrary
import KiiPush
import KiiPushSystem
import KiiPushMQTT

/// The identity of an MQTT session, kept in the state directory so that the broker recognises the device.
struct SessionFiles {
    let directory: String

    /// The client id of this directory, generated if there is no file; 23 characters, the most in MQTT 3.1.
    ///
    /// With another id the broker would start another session, and never deliver the messages of the first one.
    func clientID() throws -> String {
        let path = "\(directory)/client-id"
        if let kept = try readAll(path)?.prefix(while: { $0 != "\n" }) {
            guard !kept.isEmpty, kept.utf8.count <= 64 else {
                throw AgentError(
                    "\(escaped(path)): does not contain a client id; remove the file to create a new one, for a new "
                        + "session")
            }
            return String(kept)
        }
        var random = SystemRandomNumberGenerator()
        let made = "kiipush-" + (random.next() as UInt64 >> 4).digits(15, radix: 16)
        try write(made, to: path)
        return made
    }

    /// The file of the topics' retained messages, which the transport itself reads and writes.
    var retainedFile: String { "\(directory)/mqtt-retained" }

    /// The filters of the session that these settings had before; nil if they had none.
    func filtersOfSession(_ settings: MQTTSettings) throws -> [String]? {
        guard let text = try readAll("\(directory)/mqtt-session") else { return nil }
        let mark = mark(settings)
        guard text.begins(exactlyWith: mark) else { return nil }
        return text.droppingFirst(bytes: mark.utf8.count).split(separator: "\n").map { String($0) }
    }

    /// Records a session: the broker, the client and the first filter, and a line for each further filter.
    func noteSession(_ settings: MQTTSettings) throws {
        let filters = settings.subscriptions.map(\.filter).joined(separator: "\n")
        try write(mark(settings) + filters, to: "\(directory)/mqtt-session")
    }

    private func mark(_ settings: MQTTSettings) -> String { "\(settings.host):\(settings.port) \(settings.clientID) " }

    /// The text of a file; nil if there is no file.
    private func readAll(_ path: String) throws -> String? {
        let bytes: [UInt8]
        do throws(ReadError) { bytes = try ByteReader(regularFile: path).readAll(limit: Self.limit) } catch {
            if case .unreadable(_, let number) = error, number.rawValue == ENOENT { return nil }
            throw error
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The size limit of a file; each of its topics may have 64 KiB.
    private static let limit = (MQTTSettings.mostSubscriptions + 1) << 16

    private func write(_ text: String, to path: String) throws {
        do throws(ErrorNumber) { try replaceFile(path, with: text + "\n") } catch {
            throw AgentError("\(escaped(path)): cannot be written: \(error)")
        }
    }
}
