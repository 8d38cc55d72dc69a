import KiiPush
import KiiPushAgent
import KiiPushSystem

/// A report's data as JSON: columns of numbers, which refer to lists of texts.
struct ReportJSON {
    private let report: Report

    init(_ report: Report) { self.report = report }

    /// The JSON, escaped for an HTML element: no character of it can end the element.
    var text: String { Self.fitForHTML(json) }

    /// Replaces characters with a meaning in HTML by JSON escapes; JSON has none of them outside texts.
    static func fitForHTML(_ json: String) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(json.utf8.count + 1024)
        for byte in json.utf8 {
            switch byte {
            case UInt8(ascii: "<"): bytes += #"\u003c"#.utf8
            case UInt8(ascii: ">"): bytes += #"\u003e"#.utf8
            case UInt8(ascii: "&"): bytes += #"\u0026"#.utf8
            default: bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private var json: String {
        JSONWriter.object { writer in
            writer.member("version", 1)
            writer.member("source", escaped(report.source))
            writer.member("origin", report.origin.rawValue)
            writer.member("rules", report.rules.map { escaped($0) })
            writer.member("showsValues", report.showsValues)
            writer.member("beginning", report.beginning?.description)
            writeSummary(ReportSummary(report), &writer)
            writer.member("kinds", report.kinds.all)
            writer.member("places", report.places.all)
            writer.member("lanes", report.lanes.all)
            writer.member("routes", report.routes.all)
            writer.member("outcomes", report.outcomes.all)
            writer.member("reasons", report.reasons.all)
            writer.list("ways", report.ways.all) { $0.json($1.json) }
            writer.member("payloads", report.payloads)
            writer.member("columns") { writer in writeColumns(&writer) }
        }
    }

    private func writeSummary(_ summary: ReportSummary, _ writer: inout JSONWriter) {
        writer.member("headline", summary.headline)
        writer.objects("findings", summary.findings) { writer, finding in
            writer.member("tone", finding.tone.rawValue)
            writer.member("what", finding.what)
            writer.member("advice", finding.advice)
            writer.member("command", finding.command)
            writer.member("shows", finding.shows)
        }
    }

    private func writeColumns(_ writer: inout JSONWriter) {
        // Times and lines as differences to the previous message, which takes fewer digits.
        var (time, line): (Int64, Int) = (0, 0)
        writer.list("time", report.messages) { writer, message in
            writer.integer(message.time - time)
            time = message.time
        }
        writer.list("line", report.messages) { writer, message in
            writer.integer(Int64(message.line - line))
            line = message.line
        }
        // How long it waited for its pace; -1 if it did not, or still does.
        writer.list("waited", report.messages) { $0.integer($1.waited ?? -1) }
        let columns: [(String, (ReportMessage) -> Int)] = [
            ("kind", \.kind), ("place", \.place), ("lane", \.lane), ("route", \.route), ("outcome", \.outcome),
            ("reason", \.reason), ("way", \.way), ("payload", \.payload),
        ]
        for (name, value) in columns {
            writer.list(name, report.messages) { $0.integer(Int64(value($1))) }
        }
    }
}
