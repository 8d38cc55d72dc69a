import KiiPush

/// The text of a kill file, entry by entry: what nobody can read stays as it is when others are changed.
struct KillFileText {
    /// One element of `kills`.
    private struct Entry {
        /// As it stands in the file.
        let text: String
        var target: KillTarget?
        var until: UTCDate?
    }

    private var entries: [Entry] = []
    /// The root's members that nobody knows, as they stand.
    private var others: [String] = []
    /// What is wrong, in the order of the file.
    private(set) var problems: [KillFileProblem] = []
    private let path: String
    private let bytes: [UInt8]

    /// A file without kills.
    init(path: String) {
        self.path = path
        bytes = []
    }

    /// Reads a file's bytes; what is wrong with one entry is a problem, and hides no other.
    init(_ bytes: [UInt8], path: String) throws(KillFileError) {
        self.path = path
        self.bytes = bytes
        // A disk that was full, or a shell's `>`, leaves a file of no bytes: it kills nothing, and must not bar the
        // way.
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

    /// Members have their bound in the bytes.
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
            throw malformed(version.range.lowerBound, "expected version 1; this program knows no other")
        }
        guard let kills else { throw malformed(start, #"the key "kills" is missing; it is a list"#) }
        guard case .array(let elements) = kills.content else {
            throw malformed(kills.range.lowerBound, "expected a list of kills")
        }
        for element in elements { entries.append(entry(element)) }
        problems.sort { $0.position < $1.position }
    }

    /// Reads a kill; one that lacks a part, or has it twice, switches nothing off.
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
            #"no target; it is a route's id without "*" or "://", a bucket's URI such as "#
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
        report(value.range.lowerBound, "\"\(EscapedText(Suggestion.shown(text)))\" is no time; \(example)")
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

    /// The kills that can be read, each target with its latest end.
    var kills: [KillTarget: UTCDate] {
        var kills: [KillTarget: UTCDate] = [:]
        for entry in entries {
            guard let target = entry.target, let until = entry.until else { continue }
            kills[target] = max(kills[target] ?? until, until)
        }
        return kills
    }

    /// Gives a target this end in place of all that the file says of it, or none.
    mutating func set(_ target: KillTarget, until end: UTCDate?) {
        entries.removeAll { $0.target == target }
        guard let end else { return }
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("target", target.description)
            writer.member("until", end.shortText)
        }
        entries.append(Entry(text: writer.text, target: target, until: end))
    }

    /// Forgets the kills that are over.
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
