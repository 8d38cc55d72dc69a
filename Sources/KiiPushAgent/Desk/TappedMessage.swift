import KiiPush
import KiiPushSystem

struct TappedMessage: Sendable {
    let trace: Trace
    let time: UTCDate

    /// Why it was not handled, as the deciding stage says; nil if it was handled.
    var why: String? {
        if case .handled = trace.outcome { return nil }
        let stage = trace.stages.last { $0.verdict != "pass" && $0.verdict != "handled" }
        return stage.map { "\($0.name): \($0.verdict)" }
    }

    func line(_ format: ReportFormat, app: String?) -> String {
        switch format {
        case .text: text
        case .json: json(app: app)
        }
    }

    /// One line: time, outcome, route, bucket or topic, waiting and handling times, and why it was dropped.
    var text: String {
        let clock = time.description.dropFirst(11).prefix(12)
        let reason = trace.outcome.reason.map { " (\($0))" } ?? ""
        var parts = [escaped(place)]
        parts.append("waited \(Figures.time(Self.milliseconds(trace.waitedNanoseconds)))")
        if !trace.calls.isEmpty {
            parts.append("took \(Figures.time(Self.milliseconds(trace.handlingNanoseconds)))")
        }
        if let why { parts.append(escaped(why)) }
        if let number = trace.deadLetter { parts.append("dead letter \(number)") }
        let outcome = escaped("\(trace.outcome.name)\(reason)").padded(to: 21)
        return "\(clock) \(outcome) \(escaped(trace.routes.first ?? "-").padded(to: 12)) "
            + parts.joined(separator: "; ")
    }

    /// The bucket with its object, the topic, or the kind.
    private var place: String {
        guard let message = trace.message else { return "no push message" }
        if let bucket = message.bucket {
            return "bucket \(bucket.name)" + (message.object.map { "/\($0.id)" } ?? "")
        }
        if let topic = message.topic { return "topic \(topic.name)" }
        return message.format.map { "\(message.kind) of \($0)" } ?? message.kind.description
    }

    private func json(app: String?) -> String {
        let source = trace.transport?.name ?? "-"
        if let message = trace.message {
            return JSONReport.line(message, source: source, app: app) { writer in write(&writer) }
        }
        let error = if case .undecodable(let error) = trace.outcome { error } else { DecodeError?.none }
        return JSONReport.line(error ?? DecodeError(.empty, at: 0, "unknown"), source: source) { write(&$0) }
    }

    private func write(_ writer: inout JSONWriter) {
        writer.member("time", time.description)
        writer.member("message", Int64(clamping: trace.messageID))
        if let message = trace.message { Self.write(message.raw, &writer) }
        writer.member("outcome", trace.outcome.name)
        writer.member("reason", trace.outcome.reason)
        writer.member("why", why)
        writer.member("deadLetter", trace.deadLetter.map { Int64(clamping: $0) })
        writer.member("route", trace.routes.first)
        writer.member("routes", trace.routes)
        writer.member("waited", Self.milliseconds(trace.waitedNanoseconds))
        writer.member("took", trace.calls.isEmpty ? nil : Self.milliseconds(trace.handlingNanoseconds))
    }

    /// Writes the payload as received: as JSON, or as text if it is none.
    private static func write(_ payload: RawPayload, _ writer: inout JSONWriter) {
        let text = String(decoding: payload.bytes, as: UTF8.self)
        guard case .object(let members)? = DataValue(json: text) else { return writer.member("raw", text) }
        writer.member("payload", value: .object(members))
    }

    /// Milliseconds, to the microsecond.
    private static func milliseconds(_ nanoseconds: Int64) -> Double { Double(nanoseconds / 1000) / 1000 }
}
