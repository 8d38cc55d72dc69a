/// The colours of a picture of rules, shared with the guides' pictures and `kiipush report`.
///
/// They differ in lightness too, and colour is never the only sign: a loop's lines are thick, `continue` is a word.
enum GraphInk: String {
    case ground = "#ffffff"
    case text = "#1b1f24"
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
}
