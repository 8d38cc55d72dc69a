import Foundation

/// Lines over two scales in powers of ten, each with its name at its end.
struct PlotPanel {
    struct Line {
        let label: String
        let color: String
        let isOurs: Bool
        let isDashed: Bool
        let points: [(x: Double, nanoseconds: Double)]
    }

    let title: String
    let note: String
    let top: Double
    let bottom: Double
    let marks: [(value: Double, name: String)]
    let lines: [Line]

    private let left = 76.0
    private let right = 474.0

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
        <text x="\(at(left))" y="\(at(top - 20))"><tspan class="b">\(title)</tspan>\
        <tspan class="s" dx="10">\(note)</tspan></text>
        \(grid)
        \(lines.map(draw).joined(separator: "\n"))
        \(labels)
        """
    }

    private var grid: String {
        let (low, high) = ends
        let names = ["1 ns", "10 ns", "100 ns", "1 µs", "10 µs", "100 µs", "1 ms", "10 ms", "100 ms"]
        let decades = (Int(low.rounded(.up))...max(Int(low.rounded(.up)), Int(high))).map { power in
            let place = y(pow(10, Double(power)))
            let name = names.indices.contains(power) ? names[power] : ""
            return "<path d=\"M\(at(left)) \(at(place))H\(at(right))\" class=\"m\"/>"
                + "<text x=\"\(at(left - 8))\" y=\"\(at(place + 5))\" class=\"s\" text-anchor=\"end\">\(name)</text>"
        }
        let ticks = marks.map { value, name in
            let (place, base) = (at(x(value)), at(bottom + 22))
            return "<path d=\"M\(place) \(at(top))V\(at(bottom + 5))\" class=\"m\"/>"
                + "<text x=\"\(place)\" y=\"\(base)\" class=\"s\" text-anchor=\"middle\">\(name)</text>"
        }
        let axis = "<path d=\"M\(at(left)) \(at(bottom))H\(at(right))\" class=\"a\"/>"
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
        let step = 19.0
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
            return "<path d=\"\(path)\" stroke=\"\(line.color)\" stroke-width=\"0.8\" fill=\"none\"/>"
                + "<text x=\"\(at(right + 15))\" y=\"\(at(place + 5))\"\(line.isOurs ? " class=\"b\"" : "") "
                + "style=\"fill:\(line.color)\">\(line.label), \(cost)</text>"
        }.joined(separator: "\n")
    }
}
