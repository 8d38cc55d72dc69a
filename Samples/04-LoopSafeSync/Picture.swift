import Glibc
import KiiPush
import KiiPushTesting

/// The runs as a picture: messages handled by all devices, over virtual time, both on scales of powers of ten.
struct Picture {
    struct NotWritten: Error {
        let file: String
    }

    private struct Line {
        let label: String
        let note: String
        let color: String
        /// Whether the run was cut off while it grew; its label stands beside it, those of the others above the line.
        let isCutOff: Bool
        let points: [(seconds: Double, handled: Int)]
    }

    private let lines: [Line]
    private let left = 64.0
    private let right = 790.0
    private let top = 84.0
    private let bottom = 420.0

    /// Draws the runs that differ enough to be told apart.
    init(_ reports: [(run: Run, report: FleetReport)]) {
        let shown = [
            ("guard off", "guard off", "identity or echo alone: the same", "#b3261e"),
            ("kill switch, thrown after 4 s", "kill switch alone", "thrown after 4 s", "#8a5a00"),
            ("all layers, careless handler", "all layers, careless handler", "rate alone: the same", "#5b3fa0"),
            ("all layers", "all layers", "lineage alone: the same", "#00695c"),
        ]
        lines = shown.compactMap { name, label, note, color in
            guard let report = reports.first(where: { $0.run.name == name })?.report else { return nil }
            return Line(
                label: label, note: note, color: color, isCutOff: report.stop == .cap, points: Self.steps(report))
        }
    }

    /// The moments at which the sum changed.
    private static func steps(_ report: FleetReport) -> [(seconds: Double, handled: Int)] {
        var points: [(seconds: Double, handled: Int)] = []
        for sample in report.samples where sample.handled > 0 && sample.handled != points.last?.handled {
            points.append((sample.seconds, sample.handled))
        }
        points.append((report.stop == .cap ? report.seconds : 3600, report.handled))
        return points
    }

    // MARK: Places

    private static let (firstSecond, lastSecond) = (0.4, 3600.0)
    private static let (fewest, most) = (1.0, 10_000.0)

    private func x(_ seconds: Double) -> Double {
        let (first, last) = (log10(Self.firstSecond), log10(Self.lastSecond))
        return left + (log10(max(seconds, Self.firstSecond)) - first) / (last - first) * (right - left)
    }

    private func y(_ messages: Double) -> Double {
        let (first, last) = (log10(Self.fewest), log10(Self.most))
        return bottom - (log10(max(messages, 1)) - first) / (last - first) * (bottom - top)
    }

    /// A length with one digit behind the point.
    private func at(_ length: Double) -> String { "\((length * 10).rounded() / 10)" }

    // MARK: Text

    var svg: String {
        """
        <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 820 460" role="img" aria-labelledby="t d">
        <title id="t">What a loop of ten devices does, with and without the loop guard</title>
        <desc id="d">\(description)</desc>
        <style>text { font: 13px system-ui, sans-serif; fill: #1d1d1f } .s { fill: #5c5c66; font-size: 12px }
        .b { font-weight: 600 }</style>
        <rect width="820" height="460" rx="10" fill="#fcfcfa" stroke="#d9d9d4"/>
        <text x="20" y="28" class="b" font-size="15">One turn of a thermostat, ten devices that write it back</text>
        <text x="20" y="48" class="s">messages handled by all ten, over virtual time; both scales in powers of ten</text>
        \(grid)
        \(lines.map(draw).joined(separator: "\n"))
        </svg>

        """
    }

    private var description: String {
        lines.map { "\($0.label): \($0.points.last?.handled ?? 0) messages" }.joined(separator: "; ")
    }

    private var grid: String {
        let levels = [1.0, 10, 100, 1000, 10_000].map { level in
            "<path d=\"M\(at(left)) \(at(y(level)))H\(at(right))\" stroke=\"#e4e4df\"/>"
                + "<text x=\"\(at(left - 8))\" y=\"\(at(y(level) + 4))\" class=\"s\" text-anchor=\"end\">"
                + "\(Int(level) >= 1000 ? "\(Int(level) / 1000),000" : "\(Int(level))")</text>"
        }
        let times = [(1.0, "1 s"), (10, "10 s"), (60, "1 min"), (600, "10 min"), (3600, "1 h")].map { second, name in
            "<path d=\"M\(at(x(second))) \(at(bottom))v5\" stroke=\"#8a8a92\"/>"
                + "<text x=\"\(at(x(second)))\" y=\"\(at(bottom + 20))\" class=\"s\" text-anchor=\"middle\">\(name)</text>"
        }
        return (levels + times).joined(separator: "\n")
    }

    private func draw(_ line: Line) -> String {
        guard let first = line.points.first, let last = line.points.last else { return "" }
        var path = "M\(at(x(first.seconds))) \(at(y(Double(first.handled))))"
        for point in line.points.dropFirst() {
            path += "H\(at(x(point.seconds)))V\(at(y(Double(point.handled))))"
        }
        let (endX, endY) = (x(last.seconds), y(Double(last.handled)))
        let end =
            line.isCutOff
            ? "<path d=\"M\(at(endX - 5)) \(at(endY + 9))L\(at(endX)) \(at(endY - 2))L\(at(endX + 5)) \(at(endY + 9))z\" "
                + "fill=\"\(line.color)\"/>"
            : "<circle cx=\"\(at(endX))\" cy=\"\(at(endY))\" r=\"3.5\" fill=\"\(line.color)\"/>"
        let sum = line.isCutOff ? "\(last.handled) and growing when it was cut off" : "\(last.handled) messages"
        let place = line.isCutOff ? "x=\"\(at(endX + 12))\"" : "x=\"\(at(right))\" text-anchor=\"end\""
        return """
            <path d="\(path)" fill="none" stroke="\(line.color)" stroke-width="2.5" stroke-linejoin="round"/>
            \(end)
            <text \(place) y="\(at(endY - (line.isCutOff ? 0 : 10)))" class="b" style="fill:\(line.color)">\(line.label): \(sum)</text>
            <text \(place) y="\(at(endY + (line.isCutOff ? 16 : 19)))" class="s">\(line.note)</text>
            """
    }

    /// Writes the picture in place of a file.
    func write(to name: String) throws {
        guard let file = fopen(name, "w") else { throw NotWritten(file: name) }
        defer { fclose(file) }
        guard fputs(svg, file) >= 0 else { throw NotWritten(file: name) }
    }
}
