import Glibc

/// A field of the picture with its axes: times to the right, messages upwards.
struct Panel {
    /// How a number becomes a length.
    struct Scale {
        let first: Double
        let last: Double
        var isLogarithmic = false

        /// Where a number is between the first and the last one, from 0 to 1; those beyond are on the edge.
        func share(_ number: Double) -> Double {
            let number = min(max(number, first), last)
            guard isLogarithmic else { return (number - first) / (last - first) }
            return (log10(number) - log10(first)) / (log10(last) - log10(first))
        }
    }

    let title: String
    let note: String
    let left: Double
    let width: Double
    let top: Double
    let bottom: Double
    let times: Scale
    let messages: Scale
    let timeMarks: [(Double, String)]
    let messageMarks: [(Double, String)]

    func x(_ seconds: Double) -> Double { left + times.share(seconds) * width }
    func y(_ count: Double) -> Double { bottom - messages.share(count) * (bottom - top) }

    /// The title, the lines at round numbers, and their names.
    var frame: String {
        let heads = [
            "<text x=\"\(at(left - 52))\" y=\"\(at(top - 44))\" class=\"b\">\(title)</text>",
            "<text x=\"\(at(left - 52))\" y=\"\(at(top - 24))\" class=\"s\">\(note)</text>",
        ]
        let levels = messageMarks.map { count, name in
            "<path d=\"M\(at(left)) \(at(y(count)))h\(at(width))\" class=\"mark\"/>"
                + "<text x=\"\(at(left - 8))\" y=\"\(at(y(count) + 5))\" class=\"s\" text-anchor=\"end\">\(name)</text>"
        }
        let moments = timeMarks.map { second, name in
            "<path d=\"M\(at(x(second))) \(at(bottom))v5\" class=\"tick\"/>"
                + "<text x=\"\(at(x(second)))\" y=\"\(at(bottom + 20))\" class=\"s\" text-anchor=\"middle\">"
                + "\(name)</text>"
        }
        return (heads + levels + moments).joined(separator: "\n")
    }

    /// A line through points, each of which counts from its time on.
    func steps(_ points: [(seconds: Double, count: Int)], _ ink: String, width: Double = 2.5) -> String {
        guard let first = points.first else { return "" }
        var path = "M\(at(x(first.seconds))) \(at(y(Double(first.count))))"
        for point in points.dropFirst() { path += "H\(at(x(point.seconds)))V\(at(y(Double(point.count))))" }
        return "<path d=\"\(path)\" class=\"line \(ink)\" stroke-width=\"\(width)\"/>"
    }

    /// A text at a point of the field; the ink is a class of the picture's style.
    func label(
        _ text: String, _ x: Double, _ y: Double, _ ink: String, anchor: String = "start", isSmall: Bool = false
    ) -> String {
        "<text x=\"\(at(x))\" y=\"\(at(y))\" text-anchor=\"\(anchor)\" class=\"\(isSmall ? "s" : "b \(ink)")\">"
            + "\(text)</text>"
    }
}

/// A length with one digit behind the point.
func at(_ length: Double) -> String { "\((length * 10).rounded() / 10)" }
