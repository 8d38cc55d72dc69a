import Foundation

/// The cost of a message against its size and against the number of routes, as one picture.
struct Plot {
    private let panels: [Panel]

    init(_ results: Results) {
        // Each program keeps its color in both panels.
        let styles: [(id: String, label: String, color: String)] = [
            ("kiipush", "KiiPush", "#00695c"), ("rust", "Rust by hand", "#8a5a00"), ("node", "Node by hand", "#3d7a1f"),
            ("foundation", "Swift, Foundation", "#5b3fa0"), ("python", "Python by hand", "#1f5f9e"),
            ("aiogram", "aiogram", "#b3261e"), ("simdjson-dom", "simdjson, parse only", "#77777f"),
        ]
        let lines = { (points: [Results.Point]) in
            styles.compactMap { style -> Panel.Line? in
                let own = points.filter { $0.id == style.id }.sorted { $0.at < $1.at }
                guard !own.isEmpty else { return nil }
                return Panel.Line(
                    label: style.label, color: style.color, isOurs: style.id == Program.ours,
                    isDashed: style.id == "simdjson-dom", points: own.map { (Double($0.at), $0.nanoseconds.median) })
            }
        }
        let (sizes, routes) = (lines(results.sizes), lines(results.routes))
        panels = [
            Panel(
                title: "by size of the payload", note: "100 routes", left: 66, right: 400,
                marks: [
                    (100, "100 B"), (256, "256 B"), (1024, "1 KiB"), (4096, "4 KiB"), (16_384, "16 KiB"),
                    (65_536, "64 KiB"),
                ],
                lines: sizes),
            Panel(
                title: "by number of routes", note: "227 bytes", left: 690, right: 905,
                marks: [(10, "10"), (100, "100"), (1000, "1,000"), (10_000, "10,000")], lines: routes),
        ]
    }

    /// The rules of its style sheet for a viewer that asks for dark pictures: each color's place is taken by another.
    private static var dark: String {
        let lines = [
            ("#00695c", "#4fd3a5"), ("#8a5a00", "#f0c04a"), ("#3d7a1f", "#9ccc65"), ("#5b3fa0", "#c3a6ff"),
            ("#1f5f9e", "#74b6ff"), ("#b3261e", "#ff9a62"), ("#77777f", "#b4bcc6"),
        ].map { light, dark in
            "path[stroke=\"\(light)\"] { stroke: \(dark) } circle[fill=\"\(light)\"] { fill: \(dark) } "
                + "text[style=\"fill:\(light)\"] { fill: \(dark) !important }"
        }
        return "@media (prefers-color-scheme: dark) { text { fill: #e8ecf1 } .s { fill: #a3adb9 } "
            + "rect { fill: #14171b; stroke: #3a424d } [stroke=\"#efefea\"] { stroke: #232931 } "
            + "[stroke=\"#e0e0da\"] { stroke: #2e353f } \(lines.joined(separator: " ")) }"
    }

    var svg: String {
        """
        <svg xmlns="http://www.w3.org/2000/svg" width="1080" height="430" viewBox="0 0 1080 430" role="img" aria-labelledby="t d">
        <title id="t">What a message costs, by size of the payload and by number of routes</title>
        <desc id="d">\(panels.map(\.description).joined(separator: " "))</desc>
        <style>text { font: 13px system-ui, sans-serif; fill: #1d1d1f } .s { fill: #5c5c66; font-size: 12px }
        .b { font-weight: 600 } \(Self.dark)</style>
        <rect width="1080" height="430" rx="10" fill="#fcfcfa" stroke="#d9d9d4"/>
        <text x="20" y="28" class="b" style="font-size:15px">What a message costs, from bytes to the handler's return</text>
        <text x="20" y="48" class="s">time of one message on one core; all scales in powers of ten</text>
        \(panels.map(\.svg).joined(separator: "\n"))
        </svg>

        """
    }
}

/// Lines over two scales in powers of ten, each with its name at its end.
private struct Panel {
    struct Line {
        let label: String
        let color: String
        let isOurs: Bool
        let isDashed: Bool
        let points: [(x: Double, nanoseconds: Double)]
    }

    let title: String
    let note: String
    let left: Double
    let right: Double
    let marks: [(value: Double, name: String)]
    let lines: [Line]

    private let top = 100.0
    private let bottom = 385.0

    // MARK: Places

    private func x(_ value: Double) -> Double {
        let (first, last) = (log10(marks[0].value), log10(marks[marks.count - 1].value))
        return left + (log10(value) - first) / (last - first) * (right - left)
    }

    /// The scale's ends: a little more than what was measured.
    private var ends: (low: Double, high: Double) {
        let values = lines.flatMap { $0.points.map(\.nanoseconds) }
        return (log10((values.min() ?? 1) * 0.8), log10((values.max() ?? 10) * 1.25))
    }

    private func y(_ nanoseconds: Double) -> Double {
        let (low, high) = ends
        return bottom - (log10(nanoseconds) - low) / (high - low) * (bottom - top)
    }

    /// A length with one digit behind the point.
    private func at(_ length: Double) -> String { "\((length * 10).rounded() / 10)" }

    // MARK: Text

    var description: String {
        let ends = lines.compactMap { line in
            line.points.last.map { "\(line.label) \(Self.time($0.nanoseconds))" }
        }
        return "\(title), \(note), at the right end: \(ends.joined(separator: ", "))."
    }

    /// `92 ns`, `1.6 µs`, `17 ms`.
    private static func time(_ nanoseconds: Double) -> String {
        switch nanoseconds {
        case ..<1e3: "\(short(nanoseconds)) ns"
        case ..<1e6: "\(short(nanoseconds / 1e3)) µs"
        default: "\(short(nanoseconds / 1e6)) ms"
        }
    }

    private static func short(_ value: Double) -> String { figure(value, digits: value < 9.95 ? 1 : 0) }

    var svg: String {
        """
        <text x="\(at(left))" y="\(at(top - 22))"><tspan class="b">\(title)</tspan><tspan class="s" dx="8">\(note)</tspan></text>
        \(grid)
        \(lines.map(draw).joined(separator: "\n"))
        \(labels)
        """
    }

    private var grid: String {
        let (low, high) = ends
        let decades = (Int(low.rounded(.up))...max(Int(low.rounded(.up)), Int(high))).map { power in
            let place = at(y(pow(10, Double(power))))
            let names = ["1 ns", "10 ns", "100 ns", "1 µs", "10 µs", "100 µs", "1 ms", "10 ms", "100 ms"]
            return "<path d=\"M\(at(left)) \(place)H\(at(right))\" stroke=\"#e0e0da\"/>"
                + "<text x=\"\(at(left - 8))\" y=\"\(at(y(pow(10, Double(power))) + 4))\" class=\"s\" text-anchor=\"end\">"
                + "\(names.indices.contains(power) ? names[power] : "")</text>"
        }
        let ticks = marks.map { value, name in
            "<path d=\"M\(at(x(value))) \(at(top))V\(at(bottom + 5))\" stroke=\"#efefea\"/>"
                + "<text x=\"\(at(x(value)))\" y=\"\(at(bottom + 22))\" class=\"s\" text-anchor=\"middle\">\(name)</text>"
        }
        let axis = "<path d=\"M\(at(left)) \(at(bottom))H\(at(right))\" stroke=\"#8a8a92\"/>"
        return (ticks + decades + [axis]).joined(separator: "\n")
    }

    private func draw(_ line: Line) -> String {
        let places = line.points.map { "\(at(x($0.x))) \(at(y($0.nanoseconds)))" }
        let dots = line.points.map { point in
            "<circle cx=\"\(at(x(point.x)))\" cy=\"\(at(y(point.nanoseconds)))\" r=\"\(line.isOurs ? 3.5 : 2.5)\" "
                + "fill=\"\(line.color)\"/>"
        }
        return "<path d=\"M\(places.joined(separator: "L"))\" fill=\"none\" stroke=\"\(line.color)\" "
            + "stroke-width=\"\(line.isOurs ? 3 : 1.8)\" stroke-linejoin=\"round\""
            + (line.isDashed ? " stroke-dasharray=\"5 4\"" : "") + "/>" + dots.joined()
    }

    /// The names beside the lines' ends, moved apart where they would touch.
    private var labels: String {
        let ended = lines.compactMap { line in line.points.last.map { (line: line, y: y($0.nanoseconds)) } }
        let sorted = ended.sorted { $0.y < $1.y }
        var places = sorted.map(\.y)
        let step = 17.0
        // Twice down and up: what was pushed out at one end comes back from the other.
        for _ in 0..<2 {
            for index in places.indices.dropFirst() { places[index] = max(places[index], places[index - 1] + step) }
            if let last = places.indices.last { places[last] = min(places[last], bottom) }
            for index in places.indices.dropLast().reversed() {
                places[index] = min(places[index], places[index + 1] - step)
            }
        }
        return zip(sorted, places).map { entry, place in
            let (line, cost) = (entry.line, Self.time(entry.line.points.last?.nanoseconds ?? 0))
            let path = "M\(at(right + 4)) \(at(entry.y))L\(at(right + 12)) \(at(place))"
            return
                "<path d=\"\(path)\" stroke=\"\(line.color)\" stroke-width=\"0.8\" fill=\"none\"/><text x=\"\(at(right + 15))\" y=\"\(at(place + 4))\""
                + "\(line.isOurs ? " class=\"b\"" : "") style=\"fill:\(line.color)\">\(line.label), \(cost)</text>"
        }.joined(separator: "\n")
    }
}
