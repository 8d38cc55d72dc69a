import Foundation

/// The cost of a message against its size and against the number of routes, as one picture.
struct Plot {
    private let panels: [PlotPanel]

    init(_ results: Results) {
        // Each program keeps its color in both panels.
        let styles: [(id: String, label: String, color: String)] = [
            ("kiipush", "KiiPush", "#00695c"), ("rust", "Rust by hand", "#8a5a00"), ("node", "Node by hand", "#3d7a1f"),
            ("foundation", "Swift, Foundation", "#5b3fa0"), ("python", "Python by hand", "#1f5f9e"),
            ("aiogram", "aiogram", "#b3261e"), ("simdjson-dom", "simdjson, parse only", "#77777f"),
        ]
        let lines = { (points: [Results.Point]) in
            styles.compactMap { style -> PlotPanel.Line? in
                let own = points.filter { $0.id == style.id }.sorted { $0.at < $1.at }
                guard !own.isEmpty else { return nil }
                return PlotPanel.Line(
                    label: style.label, color: style.color, isOurs: style.id == Program.ours,
                    isDashed: style.id == "simdjson-dom", points: own.map { (Double($0.at), $0.nanoseconds.median) })
            }
        }
        let (sizes, routes) = (lines(results.sizes), lines(results.routes))
        panels = [
            PlotPanel(
                title: "by size of the payload", note: "100 routes", top: 112, bottom: 362,
                marks: [
                    (100, "100 B"), (256, "256 B"), (1024, "1 KiB"), (4096, "4 KiB"), (16_384, "16 KiB"),
                    (65_536, "64 KiB"),
                ],
                lines: sizes),
            PlotPanel(
                title: "by number of routes", note: "227 bytes", top: 456, bottom: 706,
                marks: [(10, "10"), (100, "100"), (1000, "1,000"), (10_000, "10,000")], lines: routes),
        ]
    }

    /// The style sheet's part for a viewer that asks for dark pictures: another color in place of each.
    private static var dark: String {
        let lines = [
            ("#00695c", "#4fd3a5"), ("#8a5a00", "#f0c04a"), ("#3d7a1f", "#9ccc65"), ("#5b3fa0", "#c3a6ff"),
            ("#1f5f9e", "#74b6ff"), ("#b3261e", "#ff9a62"), ("#77777f", "#b4bcc6"),
        ].map { light, dark in
            "  [stroke=\"\(light)\"] { stroke: \(dark) } [fill=\"\(light)\"] { fill: \(dark) }\n"
                + "  text[style=\"fill:\(light)\"] { fill: \(dark) !important }"
        }
        return """
            @media (prefers-color-scheme: dark) {
              text { fill: #e8ecf1 } .s { fill: #a3adb9 } rect { fill: #14171b; stroke: #3a424d }
              .m { stroke: #2a313a } .a { stroke: #6b7683 }
            \(lines.joined(separator: "\n"))
            }
            """
    }

    /// As wide as a page of the guides shows it, so that a pixel of the text is one on the page; the panels are below
    /// each other.
    var svg: String {
        """
        <svg xmlns="http://www.w3.org/2000/svg" width="700" height="746" viewBox="0 0 700 746" role="img" \
        aria-labelledby="t d">
        <title id="t">What a message costs, by size of the payload and by number of routes</title>
        <desc id="d">\(panels.map(\.description).joined(separator: " "))</desc>
        <style>
        text { font: 14px system-ui, "DejaVu Sans", sans-serif; fill: #1b1f24 } .s { fill: #57606a; font-size: 13px }
        .b { font-weight: 600 } .m { stroke: #e3e6eb } .a { stroke: #8b949e }
        \(Self.dark)
        </style>
        <rect x="0.5" y="0.5" width="699" height="745" rx="8" fill="#fff" stroke="#d5d9e0"/>
        <text x="20" y="32" class="b" style="font-size:16px">\
        What a message costs, from bytes to the handler's return</text>
        <text x="20" y="54" class="s">time of one message on one core; all scales in powers of ten</text>
        \(panels.map(\.svg).joined(separator: "\n"))
        </svg>

        """
    }
}
