@testable import KiiPush
import KiiPushTesting

/// Random JSON values, and random spellings of them; the same for the same seed.
struct RandomJSON {
    private var source: SeededGenerator

    init(seed: UInt64) { source = SeededGenerator(seed: seed) }

    mutating func count(in range: ClosedRange<Int>) -> Int { .random(in: range, using: &source) }
    mutating func chance(_ percent: Int) -> Bool { count(in: 1...100) <= percent }

    // MARK: Values

    /// A value with at most `depth` levels.
    mutating func value(depth: Int) -> DataValue {
        switch count(in: 0...(depth > 0 ? 9 : 6)) {
        case 0: .null
        case 1: .bool(chance(50))
        case 2, 3: .number(number())
        case 4, 5, 6: .string(text())
        case 7: .array((0..<count(in: 0...5)).map { _ in value(depth: depth - 1) })
        default: .object(members(upTo: 5, depth: depth - 1))
        }
    }

    /// Members whose keys differ, to the byte, and begin with `prefix`.
    mutating func members(upTo most: Int, depth: Int, prefix: String = "") -> [(key: String, value: DataValue)] {
        var seen: Set<[UInt8]> = []
        var members: [(key: String, value: DataValue)] = []
        for _ in 0..<count(in: 0...most) {
            let key = prefix + text()
            if seen.insert(Array(key.utf8)).inserted { members.append((key, value(depth: depth))) }
        }
        return members
    }

    /// A text of any characters, with those that are hard to write more often than others.
    mutating func text() -> String {
        var text = ""
        for _ in 0..<count(in: 0...12) {
            let range: ClosedRange<Int> =
                switch count(in: 0...9) {
                case 0: 0...0x1F
                case 1: 0x7F...0x9F
                case 2: 0x22...0x22
                case 3: 0x5C...0x5C
                case 4: 0x80...0x7FF
                case 5: 0x300...0x36F
                case 6: 0x2028...0x2029
                case 7: 0xE000...0xFFFF
                case 8: 0x10000...0x10FFFF
                default: 0x20...0x7E
                }
            if let scalar = Unicode.Scalar(UInt32(count(in: range))) { text.unicodeScalars.append(scalar) }
        }
        return text
    }

    /// A number by RFC 8259, also one that no type of Swift's holds.
    mutating func number() -> String {
        func digits(_ source: inout Self) -> String {
            String((0..<source.count(in: 1...20)).map { _ in Character(String(source.count(in: 0...9))) })
        }
        var text = chance(30) ? "-" : ""
        text += chance(30) ? "0" : String(count(in: 1...9)) + (chance(70) ? digits(&self) : "")
        if chance(30) { text += "." + digits(&self) }
        if chance(30) { text += (chance(50) ? "e" : "E") + ["", "+", "-"][count(in: 0...2)] + digits(&self) }
        return text
    }

    // MARK: Spellings

    /// A value as JSON text with white space where JSON allows it, and escapes where it does not ask for them.
    mutating func spelling(of value: DataValue) -> String {
        let text: String
        switch value {
        case .null: text = "null"
        case .bool(let value): text = value ? "true" : "false"
        case .number(let number): text = number
        case .string(let string): text = spelling(of: string)
        case .array(let elements):
            text =
                "[" + elements.map { spelling(of: $0) }.joined(separator: ",") + (elements.isEmpty ? space() : "") + "]"
        case .object(let members):
            let spelled = members.map { space() + spelling(of: $0.key) + space() + ":" + spelling(of: $0.value) }
            text = "{" + spelled.joined(separator: ",") + (members.isEmpty ? space() : "") + "}"
        }
        return space() + text + space()
    }

    private mutating func space() -> String {
        String(
            (0..<(chance(70) ? 0 : count(in: 1...4))).map { _ in Character([" ", "\t", "\n", "\r"][count(in: 0...3)]) })
    }

    private mutating func spelling(of string: String) -> String {
        var spelled = "\""
        for scalar in string.unicodeScalars {
            let short = Self.short[scalar]
            if let short, chance(50) {
                spelled += "\\" + short
            } else if scalar.value < 0x20 || scalar == "\"" || scalar == "\\" || chance(30) {
                for unit in String(scalar).utf16 { spelled += "\\u" + unit.digits(4, radix: 16, uppercase: chance(50)) }
            } else {
                spelled.unicodeScalars.append(scalar)
            }
        }
        return spelled + "\""
    }

    private static let short: [Unicode.Scalar: String] = [
        "\"": "\"", "\\": "\\", "/": "/", "\u{8}": "b", "\u{C}": "f", "\n": "n", "\r": "r", "\t": "t",
    ]
}

extension DataValue {
    /// The value on one line, as the tool writes it.
    var json: String {
        var writer = JSONWriter()
        writer.value(self)
        return writer.text
    }
}
