import CLibrary
import KiiPushSystem

/// The colours of one output, or none: the only place that decides.
///
/// An output has colours if it is a terminal that supports them and the user has not disabled them: `TERM` is set and
/// not `dumb`, and `NO_COLOR` is unset or empty.
struct Ink: Sendable {
    enum Tone: String {
        case good = "32"
        case warning = "33"
        case bad = "1;31"
        case strong = "1"
        case header = "7"
    }

    /// No colours: every text stays unchanged, byte for byte.
    static let none = Ink(isOn: false)

    let isOn: Bool

    /// The colours of an output, given the values of the environment's variables.
    init(isTerminal: Bool, environment: (String) -> String?) {
        func value(_ name: String) -> String { environment(name) ?? "" }
        isOn = isTerminal && value("NO_COLOR").isEmpty && !value("TERM").isEmpty && value("TERM") != "dumb"
    }

    private init(isOn: Bool) { self.isOn = isOn }

    static func of(_ descriptor: Int32) -> Ink {
        Ink(isTerminal: isatty(descriptor) == 1, environment: environmentVariable)
    }

    /// A text in a tone; it must already be safe for a terminal.
    func callAsFunction(_ text: String, _ tone: Tone?) -> String {
        guard isOn, let tone, !text.isEmpty else { return text }
        return "\u{1B}[\(tone.rawValue)m\(text)\u{1B}[0m"
    }

    /// A line that begins with a position, `FILE:LINE:COLUMN: WHAT`, which is highlighted.
    func located(_ line: String) -> String {
        guard isOn, let end = line.firstIndex(ofText: ": ") else { return line }
        return self(String(line[..<end]), .strong) + line[end...]
    }

    /// A line of an agent's status, whose beginning decides its colour.
    func status(_ line: String, header: String? = nil) -> String {
        if line.hasPrefix("ROUTE"), header == nil || line == header {
            return self(line, header == nil ? .strong : .header)
        }
        if line.hasPrefix("problem") || line.firstIndex(ofText: ": NOT HEALTHY") != nil { return self(line, .bad) }
        let warnings = ["shortage", "silent", "killed", "healed", "loop guard"]
        if warnings.contains(where: { line.hasPrefix($0 + " ") }) { return self(line, .warning) }
        guard line.hasPrefix("agent "), let place = line.firstIndex(of: ":") else { return line }
        let health = line[place...].dropFirst(2).prefix { $0 != ";" }
        return line[..<health.startIndex] + self(String(health), .good) + line[health.endIndex...]
    }
}
