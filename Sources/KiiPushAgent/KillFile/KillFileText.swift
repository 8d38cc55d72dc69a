package import KiiPush
package import KiiPushRules
package import KiiPushSystem

/// The contents of a kill file, as its bytes say.
package struct KillFileText {
    /// The targets with their ends, including expired ones.
    package private(set) var kills: [KillTarget: UTCDate] = [:]
    /// Problems of single entries, which have no effect, and unknown keys, in the order of the file; at most 100.
    package private(set) var problems: [RulesError.Problem] = []

    /// Parses a file's bytes; a wrong entry is a problem, and does not affect the others.
    init(_ bytes: [UInt8], path: String) throws(KillFileError) {
        // A full disk, or a shell's `>`, leaves an empty file: it has no kills, and must not block edits.
        if bytes.allSatisfy({ " \t\n\r".utf8.contains($0) }) { return }
        let source = RulesSource(bytes, file: EscapedText(path).description)
        var reader = RulesReader(source)
        do throws(RulesError) {
            for entry in try reader.entries(try source.root()) {
                guard let (target, end) = reader.kill(entry) else { continue }
                kills[target] = max(kills[target] ?? end, end)
            }
        } catch { throw .malformed(error.problems[0]) }
        problems = reader.error?.problems ?? []
    }
}

extension RulesReader {
    /// The entries of a kill file.
    ///
    /// - Throws: `RulesError` if it is not a kill file as a whole, or has a key twice.
    fileprivate mutating func entries(_ root: PlacedValue) throws(RulesError) -> [PlacedValue] {
        guard let object = object(root, #"{"version":1,"kills":[…]}"#), version(object) != nil,
            let node = required("kills", of: object), let entries = list(node, "a list of kills"), error == nil
        else { throw failure }
        refuseKeys(of: object, otherThan: ["version", "kills"])
        return entries
    }

    /// A kill; nil for one with a missing, wrong or duplicate part, which is reported.
    fileprivate mutating func kill(_ node: PlacedValue) -> (target: KillTarget, end: UTCDate)? {
        let (what, keys) = (#"a kill: {"target":"…","until":"2026-11-21T12:00:00Z"}"#, ["target", "until"])
        guard let object = object(node, what) else { return nil }
        refuseKeys(of: object, otherThan: keys)
        // Of two, nobody knows which one is meant.
        if (node.members ?? []).count(where: { keys.containsExactly($0.key) }) > keys.count { return nil }
        // Both, so that each gets its problem.
        let target = required("target", of: object).flatMap { node in
            value(node, #"a route's id without "*" or "://", a bucket's URI, or "*""#) { KillTarget($0) }
        }
        let end = required("until", of: object).flatMap { node in
            value(node, #"a time such as "2026-11-21T12:00:00Z""#) { UTCDate($0) }
        }
        guard let target, let end else { return nil }
        return (target, end)
    }

    /// The value that a string names; reports one that names none.
    private mutating func value<Value>(_ node: PlacedValue, _ what: String, _ read: (String) -> Value?) -> Value? {
        guard let text = string(node, what) else { return nil }
        return read(text) ?? refuse(node, what, found: text)
    }
}
