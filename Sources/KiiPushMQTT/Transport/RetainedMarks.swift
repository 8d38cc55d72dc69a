#if MQTT
#if canImport(Musl)
import Musl
#else
import Glibc
#endif
import KiiPush
import KiiPushSystem

/// The last retained message that an inbox has accepted, as a digest in a file.
///
/// A broker sends a topic's retained message again with each subscription, so after each restart: with the digest it is
/// accepted once per change.
struct RetainedMark {
    /// The file; nil remembers nothing beyond the process.
    private let path: String?
    /// What the file has.
    private(set) var kept: String?

    /// Reads the file; without one, and if it cannot be read, no message is remembered.
    init(_ path: String?) {
        self.path = path
        guard let path, let bytes = try? ByteReader(regularFile: path).readAll(limit: 128) else { return }
        kept = String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    }

    /// The digest of a message of a topic at a broker.
    static func text(_ settings: MQTTSettings, _ payload: [UInt8]) -> String {
        let payload = "\(payload.count) \(String(decoding: payload, as: UTF8.self))"
        return ResourceKey(own: "\(settings.host):\(settings.port) \(settings.topic) \(payload)").digest.description
    }

    /// Remembers a message that is safe in the inbox, or, with nil, that there is none.
    ///
    /// - Returns: why it cannot be remembered; nil if it is.
    mutating func keep(_ text: String?) -> String? {
        guard let path, text != kept else { return nil }
        kept = text
        do throws(ErrorNumber) { try replaceFile(path, with: (text ?? "") + "\n") } catch {
            return "\(path) cannot be written: \(error); a retained message may be handled again after a restart"
        }
        return nil
    }
}
#endif
