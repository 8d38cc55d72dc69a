import Glibc
import KiiPush
import KiiPushTesting

/// The runs as a picture: above the loop, with and without the guard; below honest traffic.
struct Picture {
    struct NotWritten: Error {
        let file: String
    }

    private static let loop = Panel(
        title: "A loop: ten devices write back what they get", note: "messages handled by all ten; powers of ten",
        left: 72, width: 600, top: 84, bottom: 344, times: Panel.Scale(first: 0.4, last: 600, isLogarithmic: true),
        messages: Panel.Scale(first: 1, last: 20_000, isLogarithmic: true),
        timeMarks: [(1, "1 s"), (10, "10 s"), (60, "1 min"), (600, "10 min")],
        messageMarks: [(1, "1"), (10, "10"), (100, "100"), (1000, "1,000"), (10_000, "10,000")])
    private static let honest = Panel(
        title: "Honest traffic: ten changes a second", note: "messages of one object, one device",
        left: 72, width: 600, top: 460, bottom: 690, times: Panel.Scale(first: 0, last: 60),
        messages: Panel.Scale(first: 0, last: 600),
        timeMarks: [(0, "0"), (15, "15 s"), (30, "30 s"), (45, "45 s"), (60, "60 s")],
        messageMarks: [(0, "0"), (150, "150"), (300, "300"), (450, "450"), (600, "600")])

    private let runs: [(run: Run, report: FleetReport)]
    private let honestReport: FleetReport

    init(_ runs: [(run: Run, report: FleetReport)], honest: FleetReport) {
        self.runs = runs
        honestReport = honest
    }

    /// The moments at which the sum changed.
    private static func steps(_ report: FleetReport) -> [(seconds: Double, count: Int)] {
        var points: [(seconds: Double, count: Int)] = []
        for sample in report.samples where sample.handled > 0 && sample.handled != points.last?.count {
            points.append((sample.seconds, sample.handled))
        }
        points.append((report.stop == .cap ? report.seconds : Double(Run.seconds), report.handled))
        return points
    }

    // MARK: The loop

    private var loopLines: String {
        let shown = [
            ("guard off", "without the guard", "bad"), ("all layers, careless handler", "pace alone", "paced"),
            ("all layers", "all layers", "good"),
        ]
        return shown.compactMap { name, label, ink in
            runs.first { $0.run.name == name }.map { line($0.report, label, ink) }
        }.joined(separator: "\n")
    }

    private func line(_ report: FleetReport, _ label: String, _ ink: String) -> String {
        let panel = Self.loop
        let (x, y) = (
            panel.x(report.stop == .cap ? report.seconds : Double(Run.seconds)), panel.y(Double(report.handled))
        )
        let text =
            report.stop == .cap
            ? panel.label("\(label): \(report.handled) and growing", x + 10, y + 4, ink)
            : panel.label("\(label): \(report.handled)", panel.left + panel.width, y - 8, ink, anchor: "end")
        return panel.steps(Self.steps(report), ink) + "\n" + text
    }

    // MARK: Honest traffic

    private var honestLines: String {
        let panel = Self.honest
        let arrived = (0...HonestRun.seconds).map { (seconds: Double($0), count: $0 * HonestRun.perSecond) }
        let handled = honestReport.samples.filter { $0.seconds <= 60.5 }.map {
            (seconds: $0.seconds, count: $0.handled)
        }
        // Where it waited: the longest time without a change.
        var (start, end) = (0.0, 0.0)
        var last = handled.first
        for point in handled where point.count != last?.count {
            if let from = last?.seconds, point.seconds - from > end - start { (start, end) = (from, point.seconds) }
            last = point
        }
        return [
            panel.steps(arrived, "arrived", width: 5), panel.steps(handled, "good"),
            panel.label("paused, to see whether they", panel.x(end) + 26, panel.y(50), "", isSmall: true),
            panel.label("come by themselves", panel.x(end) + 26, panel.y(50) + 17, "", isSmall: true),
            panel.label(
                "\(honestReport.handled) of \(HonestRun.changes) handled", panel.x(60), panel.y(600) - 10, "good",
                anchor: "end"),
            panel.label("arrived", panel.x(44), panel.y(440) - 14, "arrived", anchor: "end"),
        ].joined(separator: "\n")
    }

    // MARK: Text

    /// As wide as a page of the guides shows it, so that its text is not made smaller there.
    var svg: String {
        """
        <svg xmlns="http://www.w3.org/2000/svg" width="700" height="728" viewBox="0 0 700 728" role="img" aria-labelledby="t d">
        <title id="t">What the loop guard does with a loop, and with honest traffic</title>
        <desc id="d">\(description)</desc>
        <style>
        text { font: 14px system-ui, "DejaVu Sans", sans-serif; fill: #1b1f24 } .b { font-weight: 600 }
        text.s { fill: #57606a; font-size: 13px } .ground { fill: #fff; stroke: #d5d9e0 } .mark { stroke: #e3e6eb }
        .line { fill: none; stroke-linejoin: round } .tick { stroke: #8b949e }
        path.bad { stroke: #b3400a } text.bad { fill: #b3400a } path.paced { stroke: #0b5cad } text.paced { fill: #0b5cad }
        path.good { stroke: #00694d } text.good { fill: #00694d } path.arrived { stroke: #b6bec8 } text.arrived { fill: #57606a }
        @media (prefers-color-scheme: dark) {
          text { fill: #e8ecf1 } text.s { fill: #a3adb9 } .ground { fill: #14171b; stroke: #3a424d } .mark { stroke: #2a313a }
          .tick { stroke: #6b7683 } path.bad { stroke: #ff9a62 } text.bad { fill: #ff9a62 } path.paced { stroke: #74b6ff }
          text.paced { fill: #74b6ff } path.good { stroke: #4fd3a5 } text.good { fill: #4fd3a5 } path.arrived { stroke: #57616d }
          text.arrived { fill: #a3adb9 }
        }
        </style>
        <rect class="ground" x="0.5" y="0.5" width="699" height="727" rx="8"/>
        \(Self.loop.frame)
        \(loopLines)
        \(Self.honest.frame)
        \(honestLines)
        </svg>

        """
    }

    private var description: String {
        let loops = runs.map { "\($0.run.name): \($0.report.handled) messages" }.joined(separator: "; ")
        return "\(loops); honest traffic: \(honestReport.handled) of \(HonestRun.changes)"
    }

    /// Writes the picture in place of a file.
    func write(to name: String) throws {
        guard let file = fopen(name, "w") else { throw NotWritten(file: name) }
        defer { fclose(file) }
        guard fputs(svg, file) >= 0 else { throw NotWritten(file: name) }
    }
}
