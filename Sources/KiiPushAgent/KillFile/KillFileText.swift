package import KiiPush
package import KiiPushRules
package import KiiPushSystem

/// The contents of a kill file, as its bytes say.
package struct KillFileText {
    /// The targets with their ends, including expired ones.
    package private(set) var kills: [KillTarget: UTCDate] = [:]
    /// Problems of single entries, which have no effect, and unknown keys, in the order of the file.
    package private(set) var problems: [RulesError.Problem] = []
    private let path: String
    private let bytes: [UInt8]

    /// Parses a file's bytes; a wrong entry is a problem, and does not affect the others.
    init(_ bytes: [UInt8], path: String) throws(KillFileError) {
        (self.path, self.bytes) = (path, bytes)
        // A full disk, or a shell's `>`, leaves an empty file: it has no kills, and must not block edits.
        if bytes.allSatisfy({ " \t\n\r".utf8.contains($0) }) { return }
        let root: PlacedValue
        do throws(DecodeError) { root = try PlacedValue(bytes, limits: Self.limits) } catch {
            throw malformed(error.offset, "\(error.code.rawValue): \(error.detail)")
        }
        guard let members = root.members else {
            throw malformed(root.offset, #"expected {"version":1,"kills":[…]}"#)
        }
        try readRoot(members, root.offset)
    }

    /// The size limits the members too.
    private static let limits = PayloadLimits(bytes: KillFile.largestSize, members: .max)

    private mutating func readRoot(_ members: [PlacedValue.Member], _ start: Int) throws(KillFileError) {
        var version: PlacedValue?
        var kills: PlacedValue?
        for member in members {
            switch member.key {
            case "version" where version == nil: version = member.value
            case "kills" where kills == nil: kills = member.value
            case "version", "kills": throw malformed(member.keyOffset, "duplicate key; remove one")
            default: report(member.keyOffset, "unknown key; the keys are version and kills")
            }
        }
        guard let version else { throw malformed(start, #"the key "version" is missing; it is 1"#) }
        guard case .number("1") = version.value else {
            throw malformed(version.offset, "expected version 1, the only supported one")
        }
        guard let kills else { throw malformed(start, #"the key "kills" is missing; it is a list"#) }
        guard let elements = kills.elements else {
            throw malformed(kills.offset, "expected a list of kills")
        }
        for element in elements { readKill(element) }
        problems.sort { $0.position < $1.position }
    }

    /// Parses a kill; one with a missing or duplicate part has no effect.
    private mutating func readKill(_ value: PlacedValue) {
        let start = value.offset
        guard let members = value.members else {
            return report(start, #"expected a kill: {"target":"…","until":"2026-11-21T12:00:00Z"}"#)
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
                return report(member.keyOffset, "duplicate key in one kill; remove one")
            }
        }
        if targets.isEmpty { report(start, #"the key "target" is missing"#) }
        if ends.isEmpty { report(start, #"the key "until" is missing"#) }
        // Both, so that each gets its problem.
        let (target, until) = (targets.first.flatMap { self.target($0) }, ends.first.flatMap { self.end($0) })
        if let target, let until { kills[target] = max(kills[target] ?? until, until) }
    }

    private mutating func target(_ value: PlacedValue) -> KillTarget? {
        if case .string(let text) = value.value, let target = KillTarget(text) { return target }
        report(
            value.offset,
            #"not a target; expected a route's id without "*" or "://", a bucket's URI such as "#
                + #""kiicloud://users/U/buckets/b", or "*""#)
        return nil
    }

    private mutating func end(_ value: PlacedValue) -> UTCDate? {
        var what = #"a time is a string such as "2026-11-21T12:00:00Z""#
        if case .string(let text) = value.value {
            if let date = UTCDate(text) { return date }
            what = "\"\(EscapedText(Suggestion.shown(text)))\" is not a time; \(what)"
        }
        report(value.offset, what)
        return nil
    }

    private mutating func report(_ offset: Int, _ what: String) { problems.append(problem(offset, what)) }

    private func malformed(_ offset: Int, _ what: String) -> KillFileError { .malformed(problem(offset, what)) }

    private func problem(_ offset: Int, _ what: String) -> RulesError.Problem {
        RulesError.Problem(file: EscapedText(path).description, position: SourcePosition(offset, in: bytes), what: what)
    }
}
