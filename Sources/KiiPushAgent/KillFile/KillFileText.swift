import KiiPush
import KiiPushSystem

/// The text of a kill file, entry by entry: unreadable entries stay unchanged when others are edited.
struct KillFileText {
    /// One element of `kills`.
    private struct Entry {
        /// Its text in the file.
        let text: String
        var target: KillTarget?
        var until: UTCDate?
    }

    private var entries: [Entry] = []
    /// Unknown members of the root, as text.
    private var others: [String] = []
    /// The problems, in the order of the file.
    private(set) var problems: [KillFileProblem] = []
    private let path: String
    private let bytes: [UInt8]

    /// A file without kills.
    init(path: String) {
        self.path = path
        bytes = []
    }

    /// Parses a file's bytes; a wrong entry is a problem, and does not affect the others.
    init(_ bytes: [UInt8], path: String) throws(KillFileError) {
        self.path = path
        self.bytes = bytes
        // A full disk, or a shell's `>`, leaves an empty file: it has no kills, and must not block edits.
        if bytes.allSatisfy(Self.isWhiteSpace) { return }
        let root: PlacedValue
        do throws(DecodeError) { root = try PlacedValue(bytes, limits: Self.limits) } catch {
            throw malformed(error.offset, "\(error.code.rawValue): \(error.detail)")
        }
        guard case .object(let members) = root.content else {
            throw malformed(root.range.lowerBound, #"expected {"version":1,"kills":[…]}"#)
        }
        try readRoot(members, root.range.lowerBound)
    }

    /// The size limits the members too.
    private static let limits = PayloadLimits(bytes: KillFile.largestSize, members: .max)

    private static func isWhiteSpace(_ byte: UInt8) -> Bool {
        [UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\n"), UInt8(ascii: "\r")].contains(byte)
    }

    // MARK: Reading

    private mutating func readRoot(_ members: [PlacedValue.Member], _ start: Int) throws(KillFileError) {
        var version: PlacedValue?
        var kills: PlacedValue?
        for member in members {
            switch member.key {
            case "version" where version == nil: version = member.value
            case "kills" where kills == nil: kills = member.value
            case "version", "kills": throw malformed(member.keyOffset, "duplicate key; remove one")
            default:
                report(member.keyOffset, "unknown key; the keys are version and kills")
                others.append("\(member.key.quotedAsJSON):\(text(member.value.range))")
            }
        }
        guard let version else { throw malformed(start, #"the key "version" is missing; it is 1"#) }
        guard case .number("1") = version.content else {
            throw malformed(version.range.lowerBound, "expected version 1, the only supported one")
        }
        guard let kills else { throw malformed(start, #"the key "kills" is missing; it is a list"#) }
        guard case .array(let elements) = kills.content else {
            throw malformed(kills.range.lowerBound, "expected a list of kills")
        }
        for element in elements { entries.append(entry(element)) }
        problems.sort { $0.position < $1.position }
    }

    /// Parses a kill; one with a missing or duplicate part has no effect.
    private mutating func entry(_ value: PlacedValue) -> Entry {
        var entry = Entry(text: text(value.range))
        guard case .object(let members) = value.content else {
            report(value.range.lowerBound, #"expected a kill: {"target":"…","until":"2026-11-21T12:00:00Z"}"#)
            return entry
        }
        var targets: [PlacedValue] = []
        var ends: [PlacedValue] = []
        for member in members {
            switch member.key {
            case "target": targets.append(member.value)
            case "until": ends.append(member.value)
            default: report(member.keyOffset, "unknown key; the keys of a kill are target and until")
            }
            if targets.count > 1 || ends.count > 1 {
                report(member.keyOffset, "duplicate key in one kill; remove one")
                return entry
            }
        }
        entry.target = target(targets.first, of: value)
        entry.until = end(ends.first, of: value)
        return entry
    }

    private mutating func target(_ value: PlacedValue?, of kill: PlacedValue) -> KillTarget? {
        guard let value else {
            report(kill.range.lowerBound, #"the key "target" is missing"#)
            return nil
        }
        if case .string(let text) = value.content, !text.isEmpty, let target = KillTarget(text) { return target }
        report(
            value.range.lowerBound,
            #"not a target; expected a route's id without "*" or "://", a bucket's URI such as "#
                + #""kiicloud://users/U/buckets/b", or "*""#)
        return nil
    }

    private mutating func end(_ value: PlacedValue?, of kill: PlacedValue) -> UTCDate? {
        guard let value else {
            report(kill.range.lowerBound, #"the key "until" is missing"#)
            return nil
        }
        let example = #"a time is a string such as "2026-11-21T12:00:00Z""#
        guard case .string(let text) = value.content else {
            report(value.range.lowerBound, example)
            return nil
        }
        if let date = UTCDate(text) { return date }
        report(value.range.lowerBound, "\"\(EscapedText(Suggestion.shown(text)))\" is not a time; \(example)")
        return nil
    }

    private mutating func report(_ offset: Int, _ what: String) {
        problems.append(KillFileProblem(path: path, at: offset, in: bytes, what))
    }

    private func malformed(_ offset: Int, _ what: String) -> KillFileError {
        .malformed(KillFileProblem(path: path, at: offset, in: bytes, what))
    }

    private func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }

    // MARK: Kills

    /// The readable kills, each target with its latest end.
    var kills: [KillTarget: UTCDate] {
        var kills: [KillTarget: UTCDate] = [:]
        for entry in entries {
            guard let target = entry.target, let until = entry.until else { continue }
            kills[target] = max(kills[target] ?? until, until)
        }
        return kills
    }

    /// Sets a target's end in place of all its entries; nil removes it.
    mutating func set(_ target: KillTarget, until end: UTCDate?) {
        entries.removeAll { $0.target == target }
        guard let end else { return }
        let text = JSONWriter.object { writer in
            writer.member("target", target.description)
            writer.member("until", end.shortText)
        }
        entries.append(Entry(text: text, target: target, until: end))
    }

    /// Removes expired kills.
    mutating func dropEnded(at now: UTCDate) {
        entries.removeAll { entry in
            guard entry.target != nil, let until = entry.until else { return false }
            return until <= now
        }
    }

    /// The whole text, a line for each kill.
    var text: String {
        let lines = entries.map { "\n\($0.text)" }.joined(separator: ",")
        let rest = others.map { ",\($0)" }.joined()
        return #"{"version":1,"kills":["# + lines + (entries.isEmpty ? "]" : "\n]") + rest + "}\n"
    }
}
