package import KiiPush

extension PlacedValue {
    var kindName: String {
        switch token.kind {
        case .string: "a string"
        case .number: "a number"
        case .true: "true"
        case .false: "false"
        case .null, .absent: "null"
        case .object: "an object"
        case .array: "a list"
        }
    }
}

/// The members of an object, by key.
package struct RulesObject {
    let node: PlacedValue
    package let members: [PlacedValue.Member]

    subscript(key: String) -> PlacedValue? { member(key)?.value }

    func member(_ key: String) -> PlacedValue.Member? { members.first { $0.key.isExactly(key) } }
}

/// Reads a syntactically valid rules file, or another one of that kind, and collects every problem with its position.
package struct RulesReader {
    let source: RulesSource
    private var problems = RulesError.Collected()
    /// The parameters that placeholders may name.
    var parameters = ParameterTable()

    /// Starts with a text whose syntax is valid.
    package init(_ source: RulesSource) { self.source = source }

    // MARK: Problems

    mutating func report(_ offset: Int, _ what: @autoclosure () -> String) {
        let source = source
        problems.add(RulesError.Problem(file: source.file, position: source.position(of: offset), what: what()))
    }

    /// Records a problem, which may be one of another text, such as a file of values.
    mutating func report(_ problem: RulesError.Problem) { problems.add(problem) }

    /// Records that a value has the wrong type.
    mutating func report(_ node: PlacedValue, expected: String) {
        report(node.offset, "expected \(expected), found \(node.kindName)")
    }

    /// Records a problem; returns nil for what cannot be read.
    package mutating func refuse<Value>(_ offset: Int, _ what: @autoclosure () -> String) -> Value? {
        report(offset, what())
        return nil
    }

    /// Records that a value has the wrong type; returns nil for it.
    mutating func refuse<Value>(_ node: PlacedValue, expected: String) -> Value? {
        report(node, expected: expected)
        return nil
    }

    /// Records that a text is not what was expected; returns nil for it.
    package mutating func refuse<Value>(_ node: PlacedValue, _ expected: String, found: String) -> Value? {
        refuse(node.offset, "expected \(expected), found '\(Suggestion.shown(found))'")
    }

    /// All problems so far, as one error.
    package var error: RulesError? { problems.error }

    /// The same, after a problem that ends the reading.
    package var failure: RulesError { error ?? RulesError(source.file, .start, "it cannot be read") }

    func position(_ offset: Int) -> SourcePosition { source.position(of: offset) }

    // MARK: Containers

    /// The members of an object with known keys; reports another type, and unknown or duplicate keys.
    mutating func object(_ node: PlacedValue, _ what: String, keys: [String]) -> RulesObject? {
        guard let object = object(node, what) else { return nil }
        refuseKeys(of: object, otherThan: keys)
        return object
    }

    package mutating func refuseKeys(of object: RulesObject, otherThan keys: [String]) {
        for member in object.members where !keys.contains(where: { $0.isExactly(member.key) }) {
            report(member.keyOffset, Suggestion.unknown("key", member.key, known: keys))
        }
    }

    /// The members of an object with any keys; the first of duplicate keys counts.
    package mutating func object(_ node: PlacedValue, _ what: String) -> RulesObject? {
        guard let members = node.members else { return refuse(node, expected: what) }
        var seen: Set<ExactText> = []
        let different = members.filter { member in
            if seen.insert(ExactText(member.key)).inserted { return true }
            report(member.keyOffset, "the key '\(Suggestion.shown(member.key))' is a duplicate in this object")
            return false
        }
        return RulesObject(node: node, members: different)
    }

    /// The elements of a list; reports another type.
    package mutating func list(_ node: PlacedValue, _ what: String) -> [PlacedValue]? {
        node.elements ?? refuse(node, expected: what)
    }

    package mutating func required(_ key: String, of object: RulesObject) -> PlacedValue? {
        if let node = object[key] { return node }
        return refuse(object.node.offset, "the key '\(key)' is missing")
    }

    // MARK: Single values

    /// The text of any value as written; of a string, unescaped.
    func text(_ node: PlacedValue) -> String { node.token.string(in: source.bytes.span) }

    package mutating func string(_ node: PlacedValue, _ what: String, fills: Bool = false) -> String? {
        guard node.token.kind == .string else { return refuse(node, expected: what) }
        return fills ? filled(text(node), at: node) : text(node)
    }

    /// A non-empty string without control characters, which would garble reports; nil if it is none, which is
    /// reported.
    ///
    /// With `fills`, placeholders of parameters are replaced.
    mutating func name(_ node: PlacedValue, _ what: String, fills: Bool = false) -> String? {
        guard let name = string(node, what, fills: fills) else { return nil }
        guard !name.isEmpty else { return refuse(node.offset, "expected \(what), found an empty string") }
        guard !name.hasControlCharacters else {
            return refuse(node.offset, "expected \(what) without control characters")
        }
        return name
    }

    mutating func bool(_ node: PlacedValue) -> Bool? {
        switch node.token.kind {
        case .true: return true
        case .false: return false
        default:
            return refuse(node, expected: "true or false")
        }
    }

    mutating func integer(_ node: PlacedValue, in range: ClosedRange<Int>) -> Int? {
        let expected = "a whole number from \(range.lowerBound) to \(range.upperBound)"
        guard node.token.kind == .number else { return refuse(node, expected: expected) }
        guard let number = JSONNumber.integer(source.bytes.span, node.token.range), range.contains(Int(number)) else {
            let found = text(node)
            return refuse(node.offset, "expected \(expected), found \(Suggestion.shown(found))")
        }
        return Int(number)
    }

    mutating func duration(_ node: PlacedValue, isPositive: Bool = false) -> Duration? {
        let expected = "a duration such as \"10s\": a number and ms, s, m, h or d, at most 36500d"
        guard let text = string(node, expected) else { return nil }
        guard let duration = Duration(rule: text) else { return refuse(node, expected, found: text) }
        guard duration > .zero || !isPositive else { return refuse(node.offset, "expected a duration longer than 0") }
        return duration
    }

    mutating func choice<Value>(
        _ node: PlacedValue, _ what: String, _ values: [(name: String, value: Value)]
    ) -> Value? {
        let names = values.map(\.name)
        guard let name = string(node, "\(what): \(names.joined(separator: ", "))") else { return nil }
        if let found = values.first(where: { $0.name.isExactly(name) }) { return found.value }
        return refuse(node.offset, Suggestion.unknown(what, name, known: names))
    }

    mutating func choice<Value: CaseIterable & RawRepresentable<String>>(
        _ node: PlacedValue, _ what: String, _ type: Value.Type = Value.self
    ) -> Value? {
        choice(node, what, Value.allCases.map { ($0.rawValue, $0) })
    }

    /// A `kiicloud://` URI of something that can be written to; nil if it is none, which is reported.
    mutating func target(
        _ node: PlacedValue, _ what: String, fills: Bool, _ accepts: (KiiURI) -> Bool
    ) -> KiiURI? {
        guard let text = string(node, what) else { return nil }
        guard let uri = KiiURI(text), accepts(uri) else { return refuse(node, what, found: text) }
        return fills ? filled(uri, at: node) : uri
    }
}

/// The text of a rules file, with the line and column of each byte.
package struct RulesSource: Sendable {
    let file: String
    let bytes: [UInt8]
    private let firstLine: Int
    private let lineStarts: [Int32]

    /// Uses a whole file, or a part of it that begins with a line.
    package init(_ bytes: [UInt8], file: String, firstLine: Int = 1) {
        self.file = file
        self.bytes = bytes
        self.firstLine = firstLine
        var lineStarts: [Int32] = [0]
        let text = bytes.span
        for offset in text.indices where text[offset] == UInt8(ascii: "\n") { lineStarts.append(Int32(offset + 1)) }
        self.lineStarts = lineStarts
    }

    /// The line and column of a byte, or of the end.
    func position(of offset: Int) -> SourcePosition {
        let offset = min(max(offset, 0), bytes.count)
        // The last line that does not begin behind it.
        var (line, end) = (0, lineStarts.count)
        while end - line > 1 {
            let middle = (line + end) / 2
            if lineStarts[middle] <= offset { line = middle } else { end = middle }
        }
        return SourcePosition(line: firstLine + line, column: offset - Int(lineStarts[line]) + 1)
    }

    /// The value that the text is, if its syntax is valid.
    package func root(mostBytes: Int = RoutingRules.mostBytes) throws(RulesError) -> PlacedValue {
        let text = bytes.span
        func fail(_ offset: Int, _ what: String) -> RulesError { RulesError(file, position(of: offset), what) }
        if text.count > mostBytes {
            throw fail(0, "the file has \(text.count) bytes; at most \(mostBytes) are read")
        }
        if text.count >= 3, text[0] == 0xEF, text[1] == 0xBB, text[2] == 0xBF {
            throw fail(0, "the file begins with a byte order mark; save it as UTF-8 without one")
        }
        if text.count >= 2, [0xFE, 0xFF].contains(text[0]), text[0] ^ text[1] == 1 {
            throw fail(0, "the file is UTF-16; save it as UTF-8")
        }
        do throws(DecodeError) { return try PlacedValue(bytes, limits: RoutingRules.limits) } catch {
            throw fail(error.offset, error.code == .empty ? "the file is empty; expected an object" : error.detail)
        }
    }
}
