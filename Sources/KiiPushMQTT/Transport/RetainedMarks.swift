#if MQTT
import KiiPush
import KiiPushSystem

/// The last retained message of each topic that an inbox has accepted, as digests.
///
/// A broker sends a topic's retained message again with each subscription, so after each restart: with the digest it is
/// accepted once per change. The topics whose messages changed longest ago are forgotten beyond ``most``.
struct RetainedMarks: Equatable {
    /// The most topics: some 66 KiB of digests.
    static let most = 1000

    /// The digest of a topic, and that of its message.
    private struct Mark: Equatable {
        let topic: String
        let message: String
    }

    /// The newest last.
    private var marks: [Mark] = []

    init() {}

    /// Reads the lines of a file; one without a topic is an older release's, for the only topic that it had.
    init(lines: String) {
        for line in lines.split(separator: "\n").suffix(Self.most) {
            let words = line.split(separator: " ")
            guard let message = words.last else { continue }
            marks.append(Mark(topic: words.count > 1 ? String(words[0]) : "", message: String(message)))
        }
    }

    var lines: String { marks.map { "\($0.topic) \($0.message)\n" }.joined() }

    /// Remembers a topic's message, or, with nil, that it has none; returns whether the message is another than before.
    @discardableResult
    mutating func keep(_ settings: MQTTSettings, _ topic: String, _ payload: [UInt8]?) -> Bool {
        let (topic, message) = Self.digests(settings, topic, payload ?? [])
        let index = marks.firstIndex { $0.topic == topic || $0.topic.isEmpty && $0.message == message }
        let mark = Mark(topic: topic, message: message)
        let former = index.map { marks[$0] }
        if payload != nil, former == mark { return false }
        if let index { marks.remove(at: index) }
        if payload != nil { marks.append(mark) }
        if marks.count > Self.most { marks.removeFirst() }
        return former?.message != message
    }

    /// Forgets a topic's message unless it is this one; returns whether a message is still remembered.
    mutating func dropOther(_ settings: MQTTSettings, _ topic: String, _ payload: [UInt8]) -> Bool {
        if marks.isEmpty { return false }
        let (topic, message) = Self.digests(settings, topic, payload)
        // A mark without a topic may be of any.
        marks.removeAll { ($0.topic == topic || $0.topic.isEmpty) && $0.message != message }
        return marks.contains { $0.topic == topic || $0.topic.isEmpty }
    }

    private static func digests(
        _ settings: MQTTSettings, _ topic: String, _ payload: [UInt8]
    ) -> (topic: String, message: String) {
        let place = "\(settings.host):\(settings.port) \(topic)"
        let text = String(validating: payload, as: UTF8.self) ?? payload.description
        let message = "\(place) \(payload.count) \(text)"
        return (ResourceKey(own: place).digest.description, ResourceKey(own: message).digest.description)
    }
}

/// The file that remembers retained messages over a restart.
struct RetainedFile {
    /// The file; nil remembers nothing beyond the process.
    private let path: String?
    private(set) var kept = RetainedMarks()

    /// Reads the file; without one, and if it cannot be read, no message is remembered.
    init(_ path: String?) {
        self.path = path
        guard let path, let bytes = try? ByteReader(regularFile: path).readAll(limit: 100 * RetainedMarks.most) else {
            return
        }
        kept = RetainedMarks(lines: String(decoding: bytes, as: UTF8.self))
    }

    /// Remembers messages that are safe in the inbox; returns why that is impossible, nil if it is done.
    mutating func keep(_ marks: RetainedMarks) -> String? {
        guard let path, marks != kept else { return nil }
        kept = marks
        do throws(ErrorNumber) { try replaceFile(path, with: marks.lines) } catch {
            return "\(path) cannot be written: \(error); a retained message may be handled again after a restart"
        }
        return nil
    }
}
#endif
