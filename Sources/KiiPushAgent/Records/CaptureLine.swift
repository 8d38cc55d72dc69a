import KiiPush
import KiiPushRules

/// A line of a corpus.
enum CaptureLine {
    /// The line of a payload, with its end; nil for one that cannot be written as a line.
    static func line(_ payload: RawPayload, at time: Duration) -> String? {
        guard let text = String(validating: payload.bytes, as: UTF8.self) else { return nil }
        let whole = Duration.milliseconds(Int64(max(time, .zero) / .milliseconds(1)))
        let time = "{\"at\":\"\(whole.ruleText)\""
        // A name that a corpus cannot contain is omitted, rather than the payload.
        let mqtt = payload.mqtt.map { ",\"mqtt\":\($0.json)" } ?? ""
        let lines = [time + transport(payload) + mqtt, time + mqtt, time].flatMap { step in
            ["\(step),\"payload\":\(text)}", "\(step),\"raw\":\(text.quotedAsJSON)}"]
        }
        // The corpus reader decides whether a payload can be written unchanged.
        return lines.first { isRead($0, payload) }.map { $0 + "\n" }
    }

    private static func transport(_ payload: RawPayload) -> String {
        guard let transport = payload.transport, !transport.name.isEmpty else { return "" }
        return ",\"transport\":\(transport.name.quotedAsJSON)"
    }

    private static func isRead(_ line: String, _ payload: RawPayload) -> Bool {
        guard !line.utf8.contains(UInt8(ascii: "\n")), !line.utf8.contains(UInt8(ascii: "\r")) else { return false }
        var corpus = RuleCorpus(file: "")
        guard let step = try? corpus.step(Array(line.utf8), number: 1), case .receive(let incoming) = step.action else {
            return false
        }
        return incoming.bytes == payload.bytes
    }

    /// The time of a line; nil if the line is invalid.
    static func time(of line: ArraySlice<UInt8>) -> Duration? {
        var corpus = RuleCorpus(file: "")
        return try? corpus.step(Array(line), number: 1).at
    }
}
