/// The colours of a picture of rules, shared with the guides' pictures and `kiipush report`.
///
/// They differ in lightness too, and colour is never the only sign: a loop's lines are thick, `continue` is a word.
enum GraphInk: String, CaseIterable {
    case ground = "#ffffff"
    case text = "#1b1f24"
    case quiet = "#57606a"
    case box = "#f5f6f8"
    case boxEdge = "#8b949e"
    case stage = "#e3eef8"
    case stageEdge = "#0b5cad"
    case handler = "#dff3ec"
    case handlerEdge = "#00694d"
    case write = "#8a6100"
    case loop = "#fdeee6"
    case loopEdge = "#b3400a"

    /// The colour of a rule's write and its feed: a loop's colour if it is part of one.
    static func feed(isInCycle: Bool) -> GraphInk { isInCycle ? .loopEdge : .write }

    /// The colour for a viewer in dark mode.
    private var dark: String {
        switch self {
        case .ground: "#14171b"
        case .text: "#e8ecf1"
        case .quiet: "#a3adb9"
        case .box: "#1e2329"
        case .boxEdge: "#6b7683"
        case .stage: "#10294a"
        case .stageEdge: "#74b6ff"
        case .handler: "#0e3328"
        case .handlerEdge: "#4fd3a5"
        case .write: "#f0c04a"
        case .loop: "#3d2112"
        case .loopEdge: "#ff9a62"
        }
    }

    /// A picture from Graphviz, with a style sheet for viewers in dark mode.
    static func adaptive(_ svg: String) -> String {
        guard let start = svg.firstIndex(ofText: "<svg"),
            let end = svg[start...].firstIndex(of: ">")
        else { return svg }
        // Rules of a style sheet override the attributes that Graphviz writes.
        let rules = allCases.map { ink in
            "[fill=\"\(ink.rawValue)\"]{fill:\(ink.dark)}[stroke=\"\(ink.rawValue)\"]{stroke:\(ink.dark)}"
        }
        let style = "\n<style>@media (prefers-color-scheme: dark){\(rules.joined())}</style>"
        return svg[...end] + style + svg[svg.index(after: end)...]
    }
}
